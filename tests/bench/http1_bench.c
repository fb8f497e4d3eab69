/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what reading HTTP/1 heads costs, in nanoseconds a head.
 * Runs on: the bench program's main thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hooks/http1_request.h"
#include "hooks/http1_response.h"

#define ROUNDS 200000
#define BATCHES 15

static const char browser_head[] =
	"GET /catalog/items/4711?sort=price&page=2 HTTP/1.1\r\n"
	"Host: shop.example.org\r\n"
	"Connection: keep-alive\r\n"
	"Cache-Control: max-age=0\r\n"
	"Upgrade-Insecure-Requests: 1\r\n"
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML,"
	" like Gecko) Chrome/120.0.0.0 Safari/537.36\r\n"
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/"
	"avif,image/webp,*/*;q=0.8\r\n"
	"Referer: https://shop.example.org/catalog\r\n"
	"Accept-Encoding: gzip, deflate, br\r\n"
	"Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
	"Cookie: session=8d1f3b2c9a7e4f60; theme=dark; consent=all\r\n"
	"X-Request-Id: 4f1c2d3e-5a6b-7c8d-9e0f-a1b2c3d4e5f6\r\n"
	"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	"\r\n\r\n";

static const char response_head[] = "HTTP/1.1 200 OK\r\n"
				    "Server: nginx/1.22.1\r\n"
				    "Date: Thu, 30 Nov 2023 21:42:07 GMT\r\n"
				    "Content-Type: text/html; charset=utf-8\r\n"
				    "Content-Length: 5\r\n"
				    "Connection: keep-alive\r\n"
				    "ETag: \"65690a5f-264\"\r\n"
				    "\r\nhello";

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t read_request(const char *text, size_t length)
{
	static struct http1_request_stream stream;
	enum http1_request_event event;

	return http1_request_feed(&stream, text, length, &event);
}

static size_t read_response(const char *text, size_t length)
{
	static struct http1_response_stream stream;
	enum http1_response_event event;

	http1_response_begin(&stream, 0);
	return http1_response_feed(&stream, text, length, &event);
}

/* A fresh connection that is lost at its first byte. */
static size_t read_garbage(const char *text, size_t length)
{
	struct http1_request_stream stream;
	enum http1_request_event event;
	size_t used;

	memset(&stream, 0, sizeof(stream));
	used = http1_request_feed(&stream, text, length, &event);
	return used +
	       http1_request_feed(&stream, text + used, length - used, &event);
}

/* The best of some batches: the machine is not ours alone. */
static void measure(const char *what, size_t (*read)(const char *, size_t),
		    const char *text)
{
	size_t length = strlen(text);
	double best_ns = 1e18;

	for (int batch = 0; batch < BATCHES; batch++) {
		double start_ns = now_ns();

		for (int round = 0; round < ROUNDS; round++)
			if (read(text, length) != length)
				abort();
		start_ns = (now_ns() - start_ns) / ROUNDS;
		if (start_ns < best_ns)
			best_ns = start_ns;
	}
	printf("%-16s %4zu bytes %7.1f ns\n", what, length, best_ns);
}

int main(void)
{
	measure("request head", read_request, browser_head);
	measure("response", read_response, response_head);
	measure("not HTTP", read_garbage, "{\"json\": true}\n");
	return 0;
}
