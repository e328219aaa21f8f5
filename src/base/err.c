#include "src/base/err.h"

#include <string.h>

static const char *const texts[] = {
	[ERR_SYNTAX - ERR_BASE] = "not in the expected form",
	[ERR_RANGE - ERR_BASE] = "out of range",
	[ERR_UNSUPPORTED - ERR_BASE] = "not supported",
	[ERR_NOT_FOUND - ERR_BASE] = "not found",
	[ERR_EXISTS - ERR_BASE] = "already there",
	[ERR_EXHAUSTED - ERR_BASE] = "none left",
	[ERR_CORRUPT - ERR_BASE] = "damaged data",
	[ERR_NOT_READY - ERR_BASE] = "not ready yet",
};

const char *err_text(int code)
{
	if (code == ERR_OK)
		return "no error";
	if (code > ERR_BASE && code < ERR_TOP && texts[code - ERR_BASE])
		return texts[code - ERR_BASE];
	return code < 0 ? strerror(-code) : "unknown error";
}
