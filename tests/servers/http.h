/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 (RFC 9112) as far as the servers of the tests and of the demo need
 * it: request heads and bodies from a connection, and plain responses.
 *
 * A connection reads and writes through `struct http_calls`, so that a server
 * can choose the system calls by which its bytes come and go.
 */
#ifndef TESTS_SERVERS_HTTP_H
#define TESTS_SERVERS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Both behave like read(2) and write(2) on a blocking socket. */
struct http_calls {
	ssize_t (*read)(int fd, void *buffer, size_t len_bytes);
	ssize_t (*write)(int fd, const void *buffer, size_t len_bytes);
};

extern const struct http_calls http_plain_calls;

#define HTTP_HEAD_MAX_BYTES (96u << 10)
#define HTTP_BODY_MAX_BYTES (8u << 20)

/* Bytes in [begin, end) of `buffer` were read and are not used up yet. */
struct http_connection {
	int fd;
	const struct http_calls *calls;
	size_t begin;
	size_t end;
	char buffer[HTTP_HEAD_MAX_BYTES];
};

/* A request. All strings end with a NUL and are cut to fit. */
struct http_request {
	char method[24];
	char path[512];  /* without scheme, authority and query */
	char query[512]; /* without the question mark */
	char traceparent[128];
	bool keep_alive;
	bool chunked;
	bool expects_continue;
	uint64_t content_length;
	char *body; /* NULL when there is none */
	size_t body_bytes;
};

/* Makes a connection of an accepted socket. The socket stays the caller's. */
void http_connection_init(struct http_connection *c, int fd,
			  const struct http_calls *calls);

/*
 * Reads the next request with its whole body, and answers "100 Continue" where
 * the client waits for it. Returns 1; 0 when the client closed between two
 * requests; -EBADMSG when the bytes are no request or too many, or the negative
 * errno of the read. After a 1 the caller owes http_request_fini().
 */
int http_read_request(struct http_connection *c, struct http_request *r);

void http_request_fini(struct http_request *r);

/* The number after `key=` in the query, or `fallback` without one. */
uint64_t http_query_number(const struct http_request *r, const char *key,
			   uint64_t fallback);

/* Writes all of it. Returns 0 or a negative errno. */
int http_write_all(struct http_connection *c, const void *data, size_t bytes);

/* The standard's phrase for a status code, "Unknown" for a strange one. */
const char *http_reason(unsigned status);

struct http_response {
	unsigned status;
	const void *body;
	size_t body_bytes;
};

/*
 * Writes a whole response in one call: Content-Length, text/plain, and
 * "Connection: close" unless the request keeps the connection. A HEAD request
 * gets no body. Returns 0 or a negative errno.
 */
int http_respond(struct http_connection *c, const struct http_request *r,
		 const struct http_response *response);

#endif
