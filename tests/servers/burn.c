/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth server: burns a CPU time that the client chooses in a function that
 * the client names, answers in the way that the client asks for, and writes
 * down what it did. What a profile says is held against its log.
 * Runs on: main() on the main thread, the rest on connection threads.
 *
 *   GET /burn/burn_07/5000?housekeeping=2000
 *
 * burns 5,000 us of CPU time in burn_07, answers, and then, when the response
 * has been written to its last byte, 2,000 us in housekeeping. The query may
 * further say
 *
 *   status=204      the status; 204 and 304 have no body
 *   size=N          bytes of body, 64 without it
 *   chunked=1       chunked coding instead of Content-Length
 *   close=1         neither of them: the connection's end ends the body
 *   sendfile=1      the body comes from a file, by sendfile(2)
 *   writev=1        head and body leave in one writev(2)
 *   stream=1        head and half of the body are written before the burn
 *   abort=1         no response, the connection is closed
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/servers/burn_functions.h"
#include "tests/servers/http.h"
#include "tests/servers/io_calls.h"
#include "tests/servers/service.h"

#define BODY_MAX_BYTES (1u << 20)

static struct http_calls calls;
static bool one_request_a_connection;
static int log_fd = -1;
static int file_fd = -1;
static char filler[BODY_MAX_BYTES];

/* What one request asks for, and what came of it. */
struct job {
	int function;
	uint64_t cpu_ns;
	uint64_t housekeeping_ns;
	unsigned status;
	size_t body_bytes;
	bool head_only; /* the request is a HEAD */
	bool chunked, close, sendfile, writev, stream, abort;
	uint64_t used_ns; /* in the function */
};

static bool flag(const struct http_request *r, const char *key)
{
	return http_query_number(r, key, 0) != 0;
}

/* Returns false when the path is none of ours. */
static bool job_parse(struct job *job, const struct http_request *r)
{
	char name[16] = "";
	unsigned long long usec = 0;

	memset(job, 0, sizeof(*job));
	if (sscanf(r->path, "/burn/%15[^/]/%llu", name, &usec) != 2)
		return false;
	job->function = burn_find(name);
	job->cpu_ns = usec * 1000;
	job->housekeeping_ns = http_query_number(r, "housekeeping", 0) * 1000;
	job->status = (unsigned)http_query_number(r, "status", 200);
	job->body_bytes = http_query_number(r, "size", 64);
	job->head_only = strcmp(r->method, "HEAD") == 0;
	job->chunked = flag(r, "chunked");
	job->close = flag(r, "close");
	job->sendfile = flag(r, "sendfile");
	job->writev = flag(r, "writev");
	job->stream = flag(r, "stream");
	job->abort = flag(r, "abort");
	return job->function >= 0 && job->body_bytes <= BODY_MAX_BYTES;
}

static bool has_body(const struct job *job)
{
	return !job->head_only && job->status != 204 && job->status != 304;
}

static size_t compose_head(char *head, size_t room, const struct job *job,
			   bool keep_alive)
{
	char framing[64] = "";
	int n;

	if (job->chunked)
		strcpy(framing, "Transfer-Encoding: chunked\r\n");
	else if (!job->close && job->status != 204)
		snprintf(framing, sizeof(framing), "Content-Length: %zu\r\n",
			 job->body_bytes);
	n = snprintf(head, room,
		     "HTTP/1.1 %u %s\r\nContent-Type: text/plain\r\n%s%s\r\n",
		     job->status, http_reason(job->status), framing,
		     keep_alive ? "" : "Connection: close\r\n");
	return (size_t)n;
}

static int write_file(struct http_connection *c, off_t from, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = sendfile(c->fd, file_fd, &from, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Writes a part of the body, as one chunk where the coding is chunked. */
static int write_part(struct http_connection *c, const struct job *job,
		      size_t bytes)
{
	char size_line[32];
	int n, rc = 0;

	if (bytes == 0)
		return 0;
	if (job->chunked) {
		n = snprintf(size_line, sizeof(size_line), "%zx\r\n", bytes);
		rc = http_write_all(c, size_line, (size_t)n);
	}
	if (rc == 0)
		rc = job->sendfile ? write_file(c, 0, bytes)
				   : http_write_all(c, filler, bytes);
	if (rc == 0 && job->chunked)
		rc = http_write_all(c, "\r\n", 2);
	return rc;
}

static int write_head_and_body(struct http_connection *c, char *head,
			       size_t head_bytes, size_t body_bytes)
{
	struct iovec parts[2] = {{head, head_bytes}, {filler, body_bytes}};
	ssize_t n = writev(c->fd, parts, 2);

	if (n < 0)
		return -errno;
	if ((size_t)n < head_bytes)
		return -EIO;
	n -= (ssize_t)head_bytes;
	return http_write_all(c, filler + n, body_bytes - (size_t)n);
}

static void burn(struct job *job)
{
	job->used_ns = burn_run(job->function, job->cpu_ns);
}

/* Burns and answers. */
static int answer(struct http_connection *c, struct job *job, bool keep_alive)
{
	char head[256];
	size_t head_bytes = compose_head(head, sizeof(head), job, keep_alive);
	size_t first = has_body(job) ? job->body_bytes / 2 : 0;
	size_t second = has_body(job) ? job->body_bytes - first : 0;
	int rc;

	if (!job->stream)
		burn(job);
	if (job->writev && !job->chunked && has_body(job) && !job->stream)
		return write_head_and_body(c, head, head_bytes,
					   job->body_bytes);
	rc = http_write_all(c, head, head_bytes);
	if (rc == 0)
		rc = write_part(c, job, first);
	if (job->stream)
		burn(job);
	if (rc == 0)
		rc = write_part(c, job, second);
	if (rc == 0 && job->chunked && has_body(job))
		rc = http_write_all(c, "0\r\n\r\n", 5);
	return rc;
}

/* One line a request; O_APPEND keeps lines of several threads whole. */
static void log_job(const struct job *job, const struct http_request *r)
{
	char line[1024];
	int n = snprintf(line, sizeof(line),
			 "{\"traceparent\": \"%s\", \"function\": \"burn_%02d\""
			 ", \"tid\": %d, \"cpu_ns\": %llu}\n",
			 r->traceparent, job->function, (int)gettid(),
			 (unsigned long long)job->used_ns);

	if (log_fd >= 0 && write(log_fd, line, (size_t)n) != n)
		perror("burn: log");
}

/* Returns whether the connection can serve another request. */
static bool serve_request(struct http_connection *c, struct http_request *r)
{
	static const struct http_response missing = {404, "no such path\n", 13};
	struct job job;
	bool keep;

	if (!job_parse(&job, r))
		return http_respond(c, r, &missing) == 0 && r->keep_alive;
	keep = r->keep_alive && !job.close && !one_request_a_connection;
	if (job.abort) {
		keep = false;
		burn(&job);
	} else if (answer(c, &job, keep) < 0) {
		keep = false;
	}
	if (!keep)
		service_close(c->fd);
	if (job.housekeeping_ns)
		housekeeping(job.housekeeping_ns);
	log_job(&job, r);
	return keep;
}

static void serve(int fd)
{
	struct http_connection *c = malloc(sizeof(*c));
	struct http_request r;
	bool keep = true;

	if (c)
		http_connection_init(c, fd, &calls);
	while (c && keep && http_read_request(c, &r) == 1) {
		keep = serve_request(c, &r);
		http_request_fini(&r);
	}
	if (keep)
		service_close(fd);
	free(c);
}

/* The last line of the log: CPU time of the whole process, in ns. */
static void log_process(void)
{
	struct rusage u;
	long long us;

	getrusage(RUSAGE_SELF, &u);
	us = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000LL +
	     u.ru_utime.tv_usec + u.ru_stime.tv_usec;
	if (log_fd >= 0)
		dprintf(log_fd, "{\"process_cpu_ns\": %lld}\n", us * 1000);
}

static int prepare_file(void)
{
	file_fd = memfd_create("body", MFD_CLOEXEC);
	memset(filler, 'x', sizeof(filler));
	if (file_fd < 0 || write(file_fd, filler, sizeof(filler)) < 0)
		return -errno;
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: burn [--port=N] [--threads=N | --thread-per-connection]"
		"\n            [--detached] [--read=CALL] [--write=CALL]"
		" [--log=FILE]\n");
	return 2;
}

static const struct option options[] = {
	{"port", required_argument, NULL, 'p'},
	{"threads", required_argument, NULL, 't'},
	{"thread-per-connection", no_argument, NULL, 'c'},
	{"detached", no_argument, NULL, 'd'},
	{"read", required_argument, NULL, 'r'},
	{"write", required_argument, NULL, 'w'},
	{"log", required_argument, NULL, 'l'},
	{NULL, 0, NULL, 0},
};

/* Returns false when an option isn't known or its value makes no sense. */
static bool take_option(struct service *service, int option)
{
	switch (option) {
	case 'p':
		service->port = (uint16_t)atoi(optarg);
		return true;
	case 't':
		service->threads = (unsigned)atoi(optarg);
		return service->threads > 0;
	case 'c':
		service->threads = 0;
		one_request_a_connection = true;
		return true;
	case 'd':
		service->detached = true;
		return true;
	case 'r':
		calls.read = io_reader(optarg);
		return calls.read != NULL;
	case 'w':
		calls.write = io_writer(optarg);
		return calls.write != NULL;
	case 'l':
		log_fd = open(optarg, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND,
			      0644);
		return log_fd >= 0;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct service service = {.threads = 8, .serve = serve};
	int option, rc;

	calls = http_plain_calls;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!take_option(&service, option))
			return usage();
	rc = prepare_file();
	if (rc == 0)
		rc = service_run(&service);
	if (rc < 0)
		fprintf(stderr, "burn: %s\n", strerror(-rc));
	log_process();
	return rc < 0;
}
