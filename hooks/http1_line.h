/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines that HTTP/1 requests and responses share (RFC 9112 sections 2.3
 * and 5): the version in the start line, and the field lines of a head or of a
 * chunked body's trailers. Bytes come in pieces of any size; only the values of
 * four fields are kept.
 */
#ifndef HOOKS_HTTP1_LINE_H
#define HOOKS_HTTP1_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP1_VERSION_BYTES 8u /* of "HTTP/1." and a digit */
#define HTTP1_VALUE_BYTES 64u

enum http1_field {
	HTTP1_FIELD_OTHER,
	HTTP1_FIELD_CONTENT_LENGTH,
	HTTP1_FIELD_TRACEPARENT,
	HTTP1_FIELD_TRANSFER_ENCODING,
	HTTP1_FIELD_UPGRADE,
};

enum http1_line_event {
	HTTP1_LINE_MORE,  /* all bytes are consumed, the section goes on */
	HTTP1_LINE_FIELD, /* `field` was read; `value` holds its value */
	/* `field` must not be trusted: its line is continued on another one
	 * (obs-fold), or a blank stands between its name and the colon. */
	HTTP1_LINE_BROKEN,
	HTTP1_LINE_END, /* the empty line at the end of the section */
};

/* Zeroed, it stands in front of a section's first line. */
struct http1_line_reader {
	uint8_t state;
	uint8_t candidate;  /* the field whose name is compared */
	uint8_t field;      /* enum http1_field of the last line */
	uint8_t longer;     /* `value` lacks characters that are no blanks */
	uint8_t pending_cr; /* a CR that ends the line if LF follows */
	uint8_t length;     /* of the name so far, then of `value` */
	char value[HTTP1_VALUE_BYTES]; /* blanks around it removed, no NUL */
};

/* Whether `byte` may stand at `index` (below HTTP1_VERSION_BYTES) of an
 * HTTP/1 version. */
bool http1_line_is_version(size_t index, uint8_t byte);

/*
 * Consumes bytes up to and including the one that makes an event, and returns
 * their number; at least 1 when length is. `field`, `value`, `length` and
 * `longer` hold until the next call. After HTTP1_LINE_END the reader stands in
 * front of another section. Lines end with LF; a CR right in front of it is no
 * part of them. Lines that are no fields are passed over.
 */
size_t http1_line_feed(struct http1_line_reader *reader, const uint8_t *bytes,
		       size_t length, enum http1_line_event *event);

#endif
