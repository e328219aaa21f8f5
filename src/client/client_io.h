/* The client's edge: one request and its answer over the control socket. */
#pragma once
#include "src/client/answer.h"
#include "src/client/text.h"

/* Sends request and reads until the answer is complete. 0, or -1 with what went wrong, ready to
 * print, in problem: nobody there, no permission, silence for timeout_ms, closed too early. With keep, a complete answer
 * leaves the connection open in *keep. */
int client_ask(const char *path, const struct text *request, int timeout_ms, struct answer *a, struct text *problem, int *keep);
/* Until the daemon ends the connection; closes it. */
void client_wait(int fd);
