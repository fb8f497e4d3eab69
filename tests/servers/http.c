/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads HTTP/1.1 requests from a connection and writes responses to it.
 * Runs on: the connection threads of the test servers.
 */
#include "tests/servers/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const struct http_calls http_plain_calls = {read, write};

void http_connection_init(struct http_connection *c, int fd,
			  const struct http_calls *calls)
{
	c->fd = fd;
	c->calls = calls;
	c->begin = 0;
	c->end = 0;
}

/* Appends what one read brings. Returns its count, 0 at the end of the stream,
 * or a negative errno. */
static int fill(struct http_connection *c)
{
	if (c->begin > 0) {
		memmove(c->buffer, c->buffer + c->begin, c->end - c->begin);
		c->end -= c->begin;
		c->begin = 0;
	}
	if (c->end == sizeof(c->buffer))
		return -EBADMSG;
	for (;;) {
		ssize_t n = c->calls->read(c->fd, c->buffer + c->end,
					   sizeof(c->buffer) - c->end);
		if (n >= 0) {
			c->end += (size_t)n;
			return (int)n;
		}
		if (errno != EINTR)
			return -errno;
	}
}

/* Reads until the connection holds `bytes` unused bytes. */
static int fill_to(struct http_connection *c, size_t bytes)
{
	while (c->end - c->begin < bytes) {
		int n = fill(c);

		if (n <= 0)
			return n < 0 ? n : -EBADMSG;
	}
	return 0;
}

/* Takes one line, without its CR LF, out of the connection. The result lives
 * until the next read. */
static int take_line(struct http_connection *c, char **line)
{
	size_t seen = 0;

	for (;;) {
		char *from = c->buffer + c->begin;
		size_t have = c->end - c->begin;
		char *lf = memchr(from + seen, '\n', have - seen);
		int n;

		if (lf) {
			c->begin += (size_t)(lf - from) + 1;
			if (lf > from && lf[-1] == '\r')
				lf--;
			*lf = '\0';
			*line = from;
			return 1;
		}
		seen = have;
		n = fill(c);
		if (n <= 0)
			return n < 0 || have == 0 ? n : -EBADMSG;
	}
}

static void copy_text(char *to, size_t room, const char *from, size_t bytes)
{
	if (bytes >= room)
		bytes = room - 1;
	memcpy(to, from, bytes);
	to[bytes] = '\0';
}

/* Splits "PATH?QUERY", where "http://HOST" may stand in front. */
static void parse_target(struct http_request *r, const char *target)
{
	const char *authority = strstr(target, "://");
	const char *query;

	if (authority && target[0] != '/') {
		target = strchr(authority + 3, '/');
		if (!target)
			target = "/";
	}
	query = strchr(target, '?');
	copy_text(r->path, sizeof(r->path), target,
		  query ? (size_t)(query - target) : strlen(target));
	if (query)
		copy_text(r->query, sizeof(r->query), query + 1,
			  strlen(query + 1));
}

static int parse_request_line(struct http_request *r, char *line)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version || strncmp(version + 1, "HTTP/1.", 7) != 0)
		return -EBADMSG;
	*target = '\0';
	*version = '\0';
	copy_text(r->method, sizeof(r->method), line, strlen(line));
	parse_target(r, target + 1);
	r->keep_alive = version[8] != '0';
	return 0;
}

static void parse_field(struct http_request *r, const char *name,
			const char *value)
{
	if (strcasecmp(name, "content-length") == 0)
		r->content_length = strtoull(value, NULL, 10);
	else if (strcasecmp(name, "transfer-encoding") == 0)
		r->chunked = strcasecmp(value, "chunked") == 0;
	else if (strcasecmp(name, "connection") == 0)
		r->keep_alive = strcasecmp(value, "close") != 0;
	else if (strcasecmp(name, "expect") == 0)
		r->expects_continue = strcasecmp(value, "100-continue") == 0;
	else if (strcasecmp(name, "traceparent") == 0)
		copy_text(r->traceparent, sizeof(r->traceparent), value,
			  strlen(value));
}

static int parse_header_line(struct http_request *r, char *line)
{
	char *colon = strchr(line, ':');
	char *end = line + strlen(line);
	char *value;

	if (!colon)
		return -EBADMSG;
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " \t");
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	parse_field(r, line, value);
	return 0;
}

static int read_head(struct http_connection *c, struct http_request *r)
{
	char *line;
	int n = take_line(c, &line);

	/* RFC 9112 section 2.2: an empty line may precede a request. */
	if (n == 1 && *line == '\0')
		n = take_line(c, &line);
	if (n != 1)
		return n;
	if (parse_request_line(r, line) < 0)
		return -EBADMSG;
	while ((n = take_line(c, &line)) == 1 && *line != '\0')
		if (parse_header_line(r, line) < 0)
			return -EBADMSG;
	return n == 0 ? -EBADMSG : n;
}

/* Moves `bytes` bytes of body from the connection to the request. */
static int read_body_bytes(struct http_connection *c, struct http_request *r,
			   uint64_t bytes)
{
	char *grown;

	if (bytes > HTTP_BODY_MAX_BYTES - r->body_bytes)
		return -EBADMSG;
	grown = realloc(r->body, r->body_bytes + bytes + 1);
	if (!grown)
		return -ENOMEM;
	r->body = grown;
	while (bytes > 0) {
		size_t part = c->end - c->begin;
		int n;

		if (part > bytes)
			part = bytes;
		memcpy(r->body + r->body_bytes, c->buffer + c->begin, part);
		r->body_bytes += part;
		c->begin += part;
		bytes -= part;
		n = bytes > 0 ? fill(c) : 1;
		if (n <= 0)
			return n < 0 ? n : -EBADMSG;
	}
	r->body[r->body_bytes] = '\0';
	return 0;
}

static int read_chunked_body(struct http_connection *c, struct http_request *r)
{
	char *line;
	int n;

	for (;;) {
		uint64_t bytes;

		n = take_line(c, &line);
		if (n != 1)
			return n < 0 ? n : -EBADMSG;
		bytes = strtoull(line, NULL, 16);
		if (bytes == 0)
			break;
		n = read_body_bytes(c, r, bytes);
		if (n == 0)
			n = fill_to(c, 2);
		if (n < 0)
			return n;
		c->begin += 2;
	}
	/* Trailers, up to the empty line. */
	while ((n = take_line(c, &line)) == 1 && *line != '\0')
		;
	return n == 1 ? 0 : -EBADMSG;
}

int http_read_request(struct http_connection *c, struct http_request *r)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	int rc;

	memset(r, 0, sizeof(*r));
	rc = read_head(c, r);
	if (rc != 1)
		return rc;
	rc = 0;
	if (r->expects_continue)
		rc = http_write_all(c, go_on, sizeof(go_on) - 1);
	if (rc == 0 && r->chunked)
		rc = read_chunked_body(c, r);
	else if (rc == 0 && r->content_length > 0)
		rc = read_body_bytes(c, r, r->content_length);
	if (rc == 0)
		return 1;
	http_request_fini(r);
	return rc;
}

void http_request_fini(struct http_request *r)
{
	free(r->body);
	r->body = NULL;
}

uint64_t http_query_number(const struct http_request *r, const char *key,
			   uint64_t fallback)
{
	size_t key_bytes = strlen(key);
	const char *at = r->query;

	while (*at) {
		if (strncmp(at, key, key_bytes) == 0 && at[key_bytes] == '=')
			return strtoull(at + key_bytes + 1, NULL, 10);
		at = strchr(at, '&');
		if (!at)
			break;
		at++;
	}
	return fallback;
}

int http_write_all(struct http_connection *c, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t n = c->calls->write(c->fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

const char *http_reason(unsigned status)
{
	switch (status) {
	case 200:
		return "OK";
	case 201:
		return "Created";
	case 204:
		return "No Content";
	case 304:
		return "Not Modified";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 500:
		return "Internal Server Error";
	default:
		return "Unknown";
	}
}

int http_respond(struct http_connection *c, const struct http_request *r,
		 const struct http_response *response)
{
	size_t body_bytes = response->body_bytes;
	char *whole = malloc(256 + body_bytes);
	int head_bytes, rc;

	if (!whole)
		return -ENOMEM;
	head_bytes = snprintf(whole, 256,
			      "HTTP/1.1 %u %s\r\n"
			      "Content-Type: text/plain\r\n"
			      "Content-Length: %zu\r\n%s\r\n",
			      response->status, http_reason(response->status),
			      body_bytes,
			      r->keep_alive ? "" : "Connection: close\r\n");
	if (strcmp(r->method, "HEAD") == 0)
		body_bytes = 0;
	if (body_bytes > 0)
		memcpy(whole + head_bytes, response->body, body_bytes);
	rc = http_write_all(c, whole, (size_t)head_bytes + body_bytes);
	free(whole);
	return rc;
}
