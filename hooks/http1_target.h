/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The url.path of a request target (RFC 9112 section 3.2, RFC 3986): without
 * query and fragment, of an absolute-form without scheme and authority. Queries
 * and user information, where secrets live, are never kept.
 */
#ifndef HOOKS_HTTP1_TARGET_H
#define HOOKS_HTTP1_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/layout.h"

/* Zeroed, it stands in front of a target. */
struct http1_target {
	uint8_t state;
	uint8_t length; /* of the path, without its NUL */
};

/*
 * Consumes bytes of a target up to its end, which is the first SP, CR or LF,
 * and returns their number; the end is not consumed. The path comes out with
 * bytes outside 0x21..0x7e replaced by '?' and cut to fit; it must be all zeros
 * before, and always ends with a NUL.
 */
size_t http1_target_feed(struct http1_target *target,
			 char path[SPAN_PATH_BYTES], const uint8_t *bytes,
			 size_t length);

/* The target is over. The path of an absolute-form without one is "/". */
void http1_target_end(const struct http1_target *target,
		      char path[SPAN_PATH_BYTES]);

#endif
