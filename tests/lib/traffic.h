/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes on made-up connections, as the hooks would report them, and what the
 * agent tells of them.
 */
#ifndef TESTS_LIB_TRAFFIC_H
#define TESTS_LIB_TRAFFIC_H

#include "hooks/connection.h"

#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* One read, one write. */
void traffic_receive(int fd, const char *text);
void traffic_send(int fd, const char *text);

/* Reads "GET path HTTP/1.1", with these further header lines. */
void traffic_get(int fd, const char *path, const char *headers);

/*
 * What was told since the last call, in the order of time: "+path" for each
 * begin of a span, "-path:reason:status" for each end. Lives until the next
 * call.
 */
const char *traffic_told(void);

/* The path of the calling thread's span; "" when it has none. */
const char *traffic_current(void);

#endif
