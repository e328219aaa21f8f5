/* The project's error codes and their texts. Functions return a code (0: fine, negative: one of
 * these, or -errno for the system's own, which lies above ERR_BASE); they do not log. The edge that
 * decides logs once, with its subject.
 */
#pragma once

enum err {
	ERR_OK = 0,
	ERR_BASE = -5000, /* own codes lie below; -errno above */
	ERR_SYNTAX,
	ERR_RANGE,
	ERR_UNSUPPORTED,
	ERR_NOT_FOUND,
	ERR_EXISTS,
	ERR_EXHAUSTED,
	ERR_CORRUPT,
	ERR_NOT_READY,
	ERR_TOP,
};

const char *err_text(int code); /* never NULL; valid until the next call */
