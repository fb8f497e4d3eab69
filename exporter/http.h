/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests by HTTP: one at a time, never following a redirect, never without
 * verifying a certificate, each within its time.
 *
 * Proxies are those of the environment (http_proxy, https_proxy, all_proxy,
 * no_proxy, either case), as curl takes them.
 */
#ifndef EXPORTER_HTTP_H
#define EXPORTER_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/destination.h"

/* Instead of a status. */
#define HTTP_STATUS_IO 0       /* no connection, no answer, no name, no time */
#define HTTP_STATUS_NEVER (-1) /* it won't be better: a certificate, ... */

struct http_request {
	const char *path; /* behind the destination's URL */
	const char *content_type;
	const void *body; /* NULL: GET */
	size_t body_bytes;
	/* The body is a file of that name in a form (multipart/form-data, RFC
	 * 7578), the only one; NULL: it is sent as it is. */
	const char *form_part;
	long timeout_ms;
};

/* What of an answer is looked at. */
#define HTTP_BODY_BYTES 4096u

struct http_answer {
	int status;
	int fault;       /* libcurl's, where status is one of the above */
	char error[256]; /* the same in words */
	char body[HTTP_BODY_BYTES]; /* its begin; a text ends at a NUL */
	size_t body_bytes;          /* of `body` */
	size_t read_bytes;          /* of all, as far as it was read */
	char content_type[64];
	char retry_after[64];
};

struct http;

/* To be called before there is a second thread. The destination outlives it.
 * NULL when libcurl can't be had. */
struct http *http_create(const struct destination *destination);
void http_destroy(struct http *http);

/* One request at a time. Fills the answer in any case. */
void http_do(struct http *http, const struct http_request *request,
	     struct http_answer *answer);

#endif
