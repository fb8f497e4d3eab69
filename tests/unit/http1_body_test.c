/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing and bodies, seen through the requests that have them.
 * Runs on: the test program's main thread.
 */
#include "hooks/http1_body.h"

#include <stdio.h>

#include "tests/lib/requests.h"
#include "tests/lib/unit.h"

TEST(request_passes_over_a_counted_body)
{
	requests_read_literal(POST "content-LENGTH:\t016 \r\n" TP END
				   "GET / HTTP/1.1\r\n" NEXT);
	requests_check_heads(2);
	requests_check_parent(0, IDS);
	CHECK_STR(requests_head(1)->path, "/next");
	requests_read_literal(POST "Content-Length: 0\r\n" END NEXT);
	requests_check_heads(2);
	requests_read_literal(POST
			      "Content-Length: 3\r\nContent-Length: 3\r\n" END
			      "\n\n\n" NEXT);
	requests_check_heads(2);
}

TEST(request_takes_nothing_out_of_a_counted_body)
{
	char text[512];
	const char *body = NEXT GET TP END;

	snprintf(text, sizeof(text),
		 POST "Content-Length: %zu\r\n" END "%s" NEXT, strlen(body),
		 body);
	requests_read(text, strlen(text));
	requests_check_heads(2);
	CHECK_EQ(requests_head(1)->traceparent, HTTP1_TRACEPARENT_ABSENT);
}

TEST(request_with_a_wrong_length_is_told_and_then_lost)
{
	static const char *const lengths[] = {
		"Content-Length:\r\n",
		"Content-Length: x\r\n",
		"Content-Length: -1\r\n",
		"Content-Length: +1\r\n",
		"Content-Length: 0x1\r\n",
		"Content-Length: 1:\r\n",
		"Content-Length: 1/\r\n",
		"Content-Length: 1 1\r\n",
		"Content-Length: 1, 1\r\n",
		"Content-Length: 1\r\nContent-Length: 2\r\n",
		"Content-Length: 1\r\nContent-Length: x\r\n",
		"Content-Length: x\r\nContent-Length: 1\r\n",
		"Content-Length: 9223372036854775808\r\n",
		"Content-Length: 18446744073709551617\r\n",
		"Content-Length: 1\r\n 1\r\n",
		"Content-Length:\r\n 1\r\n",
		"Content-Length : 1\r\n",
		"Content-Length: 1\r\r\n",
		"Content-Length: 0000000000000000000000000000000000000000000000"
		"00000000000000000001\r\n",
	};
	char text[512];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		snprintf(text, sizeof(text), POST "%s" TP END, lengths[i]);
		requests_read(text, strlen(text));
		requests_check_heads(1);
		requests_check_parent(0, IDS);
		strcat(text, NEXT);
		requests_read(text, strlen(text));
		requests_check_lost(1);
	}
}

TEST(request_with_a_huge_body_is_followed)
{
	requests_read_around(POST "Content-Length: 9223372036854775807\r\n" END,
			     INT64_MAX - 5, "GET /" NEXT);
	requests_check_heads(2);
	requests_read_around(POST "Transfer-Encoding: chunked\r\n" END
				  "7fffFfffffffffff\r\n",
			     INT64_MAX, "\r\n0\r\n\r\n" NEXT);
	requests_check_heads(2);
}

TEST(request_passes_over_a_chunked_body)
{
	requests_read_literal(POST
			      "Transfer-Encoding: chunked\r\n" TP END
			      "1\r\na\r\n00A\r\n0123456789\r\n0\r\n\r\n" NEXT);
	requests_check_heads(2);
	requests_check_parent(0, IDS);
	CHECK_STR(requests_head(1)->path, "/next");
	requests_read_literal(
		POST "Transfer-Encoding: chunked\r\n" END
		     "00000000000000000000003\r\n\r\n\r\r\n0\r\n\r\n" NEXT);
	requests_check_heads(2);
}

TEST(request_takes_nothing_out_of_a_chunked_body)
{
	requests_read_literal(POST "Transfer-Encoding: chunked\r\n" END "2;" TP
				   "\r\n\r\n"
				   "a;x=\"y\";traceparent:0\r\n" TP "\r\n"
				   "0\r\n" TP "Content-Length: 9\r\n" END NEXT);
	requests_check_lost(1);
	CHECK_EQ(requests_head(0)->traceparent, HTTP1_TRACEPARENT_ABSENT);
	requests_read_literal(
		POST "Transfer-Encoding: chunked\r\n" END
		     "2;traceparent:00-" IDS "-01 ; x=\"y\"\r\n\r\n\r\n"
		     "1b \r\nGET / HTTP/1.1\r\nX: 89012345\r\n"
		     "0;" TP TP "Content-Length: 9\r\n \r\n" END NEXT);
	requests_check_heads(2);
	CHECK_EQ(requests_head(0)->traceparent, HTTP1_TRACEPARENT_ABSENT);
	CHECK_EQ(requests_head(1)->traceparent, HTTP1_TRACEPARENT_ABSENT);
	CHECK_STR(requests_head(1)->path, "/next");
}

TEST(request_with_malformed_chunks_is_lost)
{
	static const char *const bodies[] = {
		"\r\n",
		"x\r\n",
		";x\r\n",
		" 1\r\n",
		"-1\r\n",
		"1x\r\n",
		"1\n",
		"1;x\n",
		"1 \n",
		"1\rx",
		"1;x\rx",
		"1\r\nab",
		"1\r\na\n",
		"1\r\na\rx",
		"1\r\na\r\n\r\n",
		"8000000000000000\r\n",
		"10000000000000000\r\n",
	};
	char text[512];

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		snprintf(text, sizeof(text),
			 POST "Transfer-Encoding: chunked\r\n" END "%s",
			 bodies[i]);
		requests_read(text, strlen(text));
		requests_check_lost(1);
	}
}

TEST(request_coding_must_end_with_chunked)
{
	static const char *const right[] = {
		"Transfer-Encoding: chunked\r\n",
		"transfer-encoding:CHUNKED\r\n",
		"Transfer-Encoding: gzip,chunked\r\n",
		"Transfer-Encoding: gzip ;q=1 ,\tchunked , ,\r\n",
		"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: , chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 99\r\n",
		"Content-Length: x\r\nTransfer-Encoding: chunked\r\n",
	};
	static const char *const wrong[] = {
		"Transfer-Encoding:\r\n",
		"Transfer-Encoding: identity\r\n",
		"Transfer-Encoding: chunked, gzip\r\n",
		"Transfer-Encoding: chunked;q=1\r\n",
		"Transfer-Encoding: xchunked\r\n",
		"Transfer-Encoding: xhunked\r\n",
		"Transfer-Encoding: chunkex\r\n",
		"Transfer-Encoding: gzip chunked\r\n",
		"Transfer-Encoding: \"chunked\"\r\n",
		"Transfer-Encoding: \x0b"
		"chunked\r\n",
		"Transfer-Encoding: chunke\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n",
		"Transfer-Encoding: gzip\r\nContent-Length: 5\r\n",
		"Transfer-Encoding: chunked\r\n x\r\n",
		"Transfer-Encoding:\r\n chunked\r\n",
		"Transfer-Encoding : chunked\r\n",
		"Transfer-Encoding: gzip, gzip, gzip, gzip, gzip, gzip, gzip, "
		"gzip, gzip, gzip, chunked\r\n",
	};
	char text[512];

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		snprintf(text, sizeof(text),
			 POST "%s" END "5\r\nhello\r\n0\r\n\r\n" NEXT,
			 right[i]);
		requests_read(text, strlen(text));
		requests_check_heads(2);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text),
			 POST "%s" END "5\r\nhello\r\n0\r\n\r\n" NEXT,
			 wrong[i]);
		requests_read(text, strlen(text));
		requests_check_lost(1);
	}
}

TEST(request_bytes_unseen_in_a_counted_body_are_passed_over)
{
	requests_read_around(POST "Content-Length: 9\r\n" END "12", 5,
			     "89" NEXT);
	requests_check_heads(2);
	requests_read_around(POST "Content-Length: 9\r\n" END, 9, NEXT);
	requests_check_heads(2);
	requests_read_around(POST "Transfer-Encoding: chunked\r\n" END
				  "9\r\n12",
			     7, "\r\n0\r\n\r\n" NEXT);
	requests_check_heads(2);
}

TEST(request_bytes_unseen_elsewhere_make_it_lost)
{
	requests_read_around("", 1, NEXT);
	requests_check_lost(0);
	requests_read_around("GET", 1, NEXT);
	requests_check_lost(0);
	requests_read_around(GET, 1, NEXT);
	requests_check_lost(0);
	requests_read_around(GET END, 1, NEXT);
	requests_check_lost(1);
	requests_read_around(POST "Content-Length: 9\r\n" END, 10, NEXT);
	requests_check_lost(1);
	requests_read_around(POST "Transfer-Encoding: chunked\r\n" END, 1,
			     NEXT);
	requests_check_lost(1);
	requests_read_around(POST "Transfer-Encoding: chunked\r\n" END "3\r\n",
			     4, NEXT);
	requests_check_lost(1);
	requests_read_around(POST "Transfer-Encoding: gzip\r\n" END, 1, NEXT);
	requests_check_lost(1);
	requests_read_around("CONNECT a:1 HTTP/1.1\r\n" END, 1, NEXT);
	requests_check_heads(1);
	requests_read_around("{", 1, NEXT);
	CHECK_EQ(requests_seen.count, 1);
}
