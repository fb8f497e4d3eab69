/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads spans from lines of OTLP JSON.
 * Runs on: any thread of the spanprof command.
 */
#include "report/reader_spans.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/mem.h"
#include "report/split.h"

#define TEXTS_MAX_BYTES ((size_t)512 << 20)
/* Of one span, or of a line without its spans. JSON grows some thirty times
 * when it is parsed. */
#define PIECE_MAX_BYTES ((size_t)1 << 20)

/* A line that is being read. `why` is shorter than a fault. */
struct line {
	struct span_file *file;
	struct split split;
	const char *service;
	char why[200];
};

static int refuse(struct line *line, const char *why)
{
	snprintf(line->why, sizeof(line->why), "%s", why);
	return -EBADMSG;
}

static const char *keep_text(struct line *line, const json_t *text)
{
	size_t bytes = json_string_length(text) + 1;
	char *copy;

	if (bytes == 1)
		return "";
	copy = arena_take(&line->file->arena, bytes);
	return copy ? memcpy(copy, json_string_value(text), bytes) : "";
}

/* A number, or as OTLP has 64-bit ones a text of digits. */
static bool read_number(const json_t *value, uint64_t *number)
{
	const char *digits = json_string_value(value);
	char *end;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*number = (uint64_t)json_integer_value(value);
		return true;
	}
	/* strtoull alone takes signs and spaces too. */
	if (!digits || digits[0] < '0' || digits[0] > '9')
		return false;
	errno = 0;
	*number = strtoull(digits, &end, 10);
	return !errno && !*end;
}

static enum span_end end_of_word(const char *word)
{
	static const char *const words[] = {
		[SPAN_END_COMPLETE] = "complete",
		[SPAN_END_CLOSED] = "closed",
		[SPAN_END_NEXT] = "next",
		[SPAN_END_LOST] = "lost",
		[SPAN_END_UNFINISHED] = "unfinished",
	};

	for (size_t i = SPAN_END_COMPLETE; i <= SPAN_END_UNFINISHED; i++)
		if (strcmp(words[i], word) == 0)
			return (enum span_end)i;
	return SPAN_END_UNKNOWN;
}

static void apply_text(struct line *line, struct span_record *span,
		       const char *key, const json_t *text)
{
	if (strcmp(key, "http.request.method") == 0)
		span->method = keep_text(line, text);
	else if (strcmp(key, "url.path") == 0)
		span->path = keep_text(line, text);
	else if (strcmp(key, "spanprof.end") == 0)
		span->end = end_of_word(json_string_value(text));
}

static int apply_number(struct line *line, struct span_record *span,
			const char *key, const json_t *value)
{
	uint64_t number = 0, *to = NULL;

	if (strcmp(key, "spanprof.cpu_ns") == 0)
		to = &span->cpu_ns;
	else if (strcmp(key, "process.pid") == 0)
		to = &span->pid;
	else if (strcmp(key, "thread.id") == 0)
		to = &span->tid;
	else if (strcmp(key, "http.response.status_code") == 0)
		to = &number;
	if (!to)
		return 0;
	if (!read_number(value, to))
		return refuse(line, "an attribute has a bad intValue");
	if (to == &number && number <= 999)
		span->http_status = (uint32_t)number;
	span->cpu_known |= to == &span->cpu_ns;
	return 0;
}

static int read_attributes(struct line *line, struct span_record *span,
			   const json_t *attributes)
{
	json_t *attribute;
	size_t i;

	if (attributes && !json_is_array(attributes))
		return refuse(line, "attributes is not an array");
	json_array_foreach(attributes, i, attribute)
	{
		const json_t *value = json_object_get(attribute, "value");
		const json_t *text = json_object_get(value, "stringValue");
		const json_t *number = json_object_get(value, "intValue");
		const char *key =
			json_string_value(json_object_get(attribute, "key"));

		if (!key)
			return refuse(line, "an attribute has no key");
		if (json_is_string(text))
			apply_text(line, span, key, text);
		else if (number && apply_number(line, span, key, number))
			return -EBADMSG;
	}
	return 0;
}

static int read_ids(struct line *line, struct span_record *span,
		    const json_t *from)
{
	const char *id = json_string_value(json_object_get(from, "spanId"));
	const char *trace = json_string_value(json_object_get(from, "traceId"));
	const char *parent =
		json_string_value(json_object_get(from, "parentSpanId"));

	if (!id || !spanid_parse(id, &span->span))
		return refuse(line, "spanId is not 16 hex digits");
	if (!trace || !traceid_parse(trace, &span->trace))
		return refuse(line, "traceId is not 32 hex digits");
	if (parent && parent[0] && !spanid_parse(parent, &span->parent))
		return refuse(line, "parentSpanId is not 16 hex digits");
	return 0;
}

static int read_times(struct line *line, struct span_record *span,
		      const json_t *from)
{
	const json_t *start = json_object_get(from, "startTimeUnixNano");
	const json_t *end = json_object_get(from, "endTimeUnixNano");

	if (start && !read_number(start, &span->start_ns))
		return refuse(line, "startTimeUnixNano is not a number");
	if (end && !read_number(end, &span->end_ns))
		return refuse(line, "endTimeUnixNano is not a number");
	if (span->end_ns && span->end_ns < span->start_ns)
		return refuse(line, "a span ends before it starts");
	return 0;
}

static int read_span(struct line *line, const json_t *from)
{
	struct span_record span = {
		.service = line->service, .name = "", .method = "", .path = ""};
	struct span_file *file = line->file;
	int error = read_ids(line, &span, from);

	if (!error)
		error = read_times(line, &span, from);
	if (!error)
		error = read_attributes(line, &span,
					json_object_get(from, "attributes"));
	if (error)
		return error;
	span.name = keep_text(line, json_object_get(from, "name"));
	span.failed = json_integer_value(json_object_get(
			      json_object_get(from, "status"), "code")) == 2;
	file->records = mem_room(file->records, &file->capacity,
				 file->count + 1, sizeof(*file->records));
	file->records[file->count++] = span;
	return 0;
}

/* Parses a piece of the line. NULL when it is bad; then `why` is filled in. */
static json_t *parse(struct line *line, const char *text, size_t length)
{
	json_error_t why;
	json_t *value;

	if (length > PIECE_MAX_BYTES) {
		refuse(line, "a span or what is around the spans is too long");
		return NULL;
	}
	value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
	if (!value)
		snprintf(line->why, sizeof(line->why), "bad JSON: %.150s",
			 why.text);
	return value;
}

static int parse_span(struct line *line, const struct split_piece *piece)
{
	json_t *span = parse(line, piece->text, piece->length);
	int error = span ? read_span(line, span) : -EBADMSG;

	json_decref(span);
	return error;
}

/* Reads the spans of a scope. Its array holds [first,count] (split.h); a file
 * whose key is written with escapes could hold anything there. */
static int read_scope(struct line *line, const json_t *scope)
{
	const json_t *places = json_object_get(scope, "spans");
	uint64_t first, count;

	if (!json_is_object(scope) || (places && !json_is_array(places)))
		return refuse(line, "a scope without an array of spans");
	if (!places)
		return 0;
	if (!read_number(json_array_get(places, 0), &first) ||
	    !read_number(json_array_get(places, 1), &count) ||
	    first > line->split.count || count > line->split.count - first)
		return refuse(line, "a scope without an array of spans");
	for (size_t i = 0; i < count; i++) {
		int error = parse_span(line, &line->split.spans[first + i]);

		if (error)
			return error;
	}
	return 0;
}

/* The service.name of a resource, "" when it has none. */
static const char *read_service(struct line *line, const json_t *resource)
{
	const json_t *attributes = json_object_get(resource, "attributes");
	json_t *attribute;
	size_t i;

	json_array_foreach(attributes, i, attribute)
	{
		const char *key =
			json_string_value(json_object_get(attribute, "key"));

		if (key && strcmp(key, "service.name") == 0)
			return keep_text(
				line, json_object_get(json_object_get(attribute,
								      "value"),
						      "stringValue"));
	}
	return "";
}

static int read_resource(struct line *line, const json_t *resource)
{
	const json_t *scopes = json_object_get(resource, "scopeSpans");
	json_t *scope;
	size_t i;
	int error;

	if (!json_is_array(scopes))
		return refuse(line, "a resource without scopeSpans");
	line->service =
		read_service(line, json_object_get(resource, "resource"));
	json_array_foreach(scopes, i, scope)
	{
		error = read_scope(line, scope);
		if (error)
			return error;
	}
	return 0;
}

static int read_traces(struct line *line, const json_t *root)
{
	const json_t *resources = json_object_get(root, "resourceSpans");
	json_t *resource;
	size_t i;
	int error;

	if (!json_is_array(resources))
		return refuse(line, "not TracesData: no resourceSpans");
	json_array_foreach(resources, i, resource)
	{
		error = read_resource(line, resource);
		if (error)
			return error;
	}
	return 0;
}

static int read_pieces(struct line *line, const char *text, size_t length)
{
	const char *why = split_line(&line->split, text, length);
	json_t *frame;
	int error;

	if (why)
		return refuse(line, why);
	frame = parse(line, line->split.frame, line->split.frame_length);
	error = frame ? read_traces(line, frame) : -EBADMSG;
	json_decref(frame);
	return error;
}

static int read_line(struct line *line, const char *text, size_t length)
{
	size_t before = line->file->count;
	int error = read_pieces(line, text, length);

	split_fini(&line->split);
	if (!error && line->file->arena.refused)
		error = refuse(line, "too many long texts");
	if (error)
		line->file->count = before;
	return error;
}

static bool is_blank(const char *text, size_t length)
{
	return length == 0 || (length == 1 && text[0] == '\r');
}

int span_file_read(struct span_file *file, const char *data, size_t length,
		   struct fault *fault)
{
	const char *at = data, *end = data + length;
	int result = 0;

	*file = (struct span_file){0};
	arena_init(&file->arena, TEXTS_MAX_BYTES);
	for (size_t number = 1; at < end; number++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t bytes = (size_t)((stop ? stop : end) - at);
		struct line line = {.file = file};

		if (!is_blank(at, bytes) && read_line(&line, at, bytes) &&
		    result == 0)
			result = FAULT(fault, -EBADMSG, "line %zu: %s", number,
				       line.why);
		at += bytes + (stop != NULL);
	}
	return result;
}

void span_file_fini(struct span_file *file)
{
	free(file->records);
	arena_fini(&file->arena);
}
