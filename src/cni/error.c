#include "src/cni/error.h"

#include <stdarg.h>
#include <stdio.h>

int cni_fail(struct cni_error *e, enum cni_code code, const char *fmt, ...)
{
	va_list ap;
	e->code = (int)code;
	e->details[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	return e->code;
}

int cni_fail_details(struct cni_error *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->details, sizeof e->details, fmt, ap);
	va_end(ap);
	return e->code;
}
