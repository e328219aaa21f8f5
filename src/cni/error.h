/* What a CNI plugin says when it fails: the codes of the specification and our own from 100 on, a
 * message for the person who reads the pod's events, and details. The functions of this room return
 * 0 or the code that they set. CNI specification, section "Error".
 */
#pragma once

enum cni_code {
	CNI_OK = 0,
	CNI_VERSION_UNSUPPORTED = 1,
	CNI_BAD_ENVIRONMENT = 4,
	CNI_IO = 5,
	CNI_DECODE = 6,
	CNI_BAD_CONFIG = 7,
	CNI_BAD_NETNS = 8, /* the plugin's own namespace */
	CNI_TRY_AGAIN = 11,
	CNI_NOT_READY = 50, /* STATUS: an ADD would fail now */
	CNI_EXISTS = 100,  /* the interface is there already */
	CNI_NOT_AS_MADE = 101, /* CHECK found a difference */
	CNI_KERNEL = 102,  /* the kernel refused a step */
};

struct cni_error {
	int code;
	char msg[512];
	char details[512];
};

/* Sets code and message, empties the details, returns the code. */
int cni_fail(struct cni_error *e, enum cni_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Adds details to an error; returns its code. */
int cni_fail_details(struct cni_error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
