/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks profiles.
 * Runs on: test programs and fuzzers.
 */
#include "tests/lib/profile_check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef Perftools__Profiles__Profile profile_message;
typedef Perftools__Profiles__Sample sample_message;
typedef Perftools__Profiles__Label label_message;
typedef Perftools__Profiles__ValueType value_type_message;

#define UNPACKED_MAX (64u << 20)
#define DEPTH_MAX 1000u /* of a stack, as the server takes it */

/* RFC 1952: the length of what was packed is the last word. */
static size_t told_length(const uint8_t *bytes, size_t length)
{
	uint32_t told = 0;

	if (length >= sizeof(told))
		memcpy(&told, bytes + length - sizeof(told), sizeof(told));
	return told < UNPACKED_MAX ? told : UNPACKED_MAX;
}

uint8_t *profile_check_unpack(const void *bytes, size_t length,
			      size_t *out_length)
{
	size_t most = told_length(bytes, length);
	uint8_t *out = malloc(most + 1);
	z_stream stream;
	int done = Z_DATA_ERROR;

	memset(&stream, 0, sizeof(stream));
	stream.next_in = (Bytef *)(uintptr_t)bytes;
	stream.avail_in = (uInt)length;
	stream.next_out = out;
	stream.avail_out = (uInt)most;
	if (out && inflateInit2(&stream, MAX_WBITS + 16) == Z_OK)
		done = inflate(&stream, Z_FINISH);
	*out_length = stream.total_out;
	inflateEnd(&stream);
	if (done != Z_STREAM_END || stream.avail_in != 0) {
		free(out);
		return NULL;
	}
	out[*out_length] = '\0';
	return out;
}

const char *profile_text(const profile_message *p, int64_t index)
{
	return p->string_table[index];
}

static bool in_table(const profile_message *p, int64_t index)
{
	return index >= 0 && (size_t)index < p->n_string_table;
}

/* RFC 3629. */
static bool is_utf8(const char *text)
{
	const uint8_t *s = (const uint8_t *)text;

	while (*s) {
		static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
		unsigned bytes = *s < 0x80   ? 1
				 : *s < 0xc0 ? 0
				 : *s < 0xe0 ? 2
				 : *s < 0xf0 ? 3
				 : *s < 0xf8 ? 4
					     : 0;
		uint32_t value = bytes == 1 ? *s : *s & (0x7fu >> bytes);

		for (unsigned i = 1; i < bytes; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return false;
			value = value << 6 | (s[i] & 0x3f);
		}
		if (!bytes || value < least[bytes] || value > 0x10ffff ||
		    (value >= 0xd800 && value < 0xe000))
			return false;
		s += bytes;
	}
	return true;
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static const char *check_strings(const profile_message *p)
{
	char **sorted;
	const char *fault = NULL;

	if (p->n_string_table == 0 || p->string_table[0][0] != '\0')
		return "string 0 is not empty";
	sorted = malloc(p->n_string_table * sizeof(*sorted));
	memcpy(sorted, p->string_table, p->n_string_table * sizeof(*sorted));
	qsort(sorted, p->n_string_table, sizeof(*sorted), by_text);
	for (size_t i = 0; i < p->n_string_table && !fault; i++) {
		if (!is_utf8(sorted[i]))
			fault = "a string is no UTF-8";
		else if (i && strcmp(sorted[i], sorted[i - 1]) == 0)
			fault = "a string is there twice";
	}
	free(sorted);
	return fault;
}

static bool is_type(const profile_message *p, const value_type_message *type,
		    const char *name, const char *unit)
{
	return type && in_table(p, type->type) && in_table(p, type->unit) &&
	       strcmp(profile_text(p, type->type), name) == 0 &&
	       strcmp(profile_text(p, type->unit), unit) == 0;
}

static const char *check_types(const profile_message *p)
{
	if (p->n_sample_type != 2 ||
	    !is_type(p, p->sample_type[0], "samples", "count") ||
	    !is_type(p, p->sample_type[1], "cpu", "nanoseconds"))
		return "the sample types are others";
	if (!is_type(p, p->period_type, "cpu", "nanoseconds") || p->period < 1)
		return "the period is another";
	if (!in_table(p, p->default_sample_type) ||
	    strcmp(profile_text(p, p->default_sample_type), "cpu") != 0)
		return "the default type is another";
	if (p->time_nanos <= 0 || p->duration_nanos < 0)
		return "the times make no sense";
	for (size_t i = 0; i < p->n_comment; i++) {
		if (!in_table(p, p->comment[i]))
			return "a comment is none";
	}
	return NULL;
}

static const char *check_tables(const profile_message *p)
{
	for (size_t i = 0; i < p->n_mapping; i++) {
		if (p->mapping[i]->id != i + 1 ||
		    !in_table(p, p->mapping[i]->filename) ||
		    !in_table(p, p->mapping[i]->build_id))
			return "a mapping makes no sense";
	}
	for (size_t i = 0; i < p->n_function; i++) {
		if (p->function[i]->id != i + 1 ||
		    !in_table(p, p->function[i]->name) ||
		    !in_table(p, p->function[i]->system_name) ||
		    p->function[i]->name == 0)
			return "a function makes no sense";
	}
	return NULL;
}

static bool is_in_mapping(const profile_message *p,
			  const Perftools__Profiles__Location *location)
{
	const Perftools__Profiles__Mapping *mapping;

	if (!location->mapping_id)
		return true;
	mapping = p->mapping[location->mapping_id - 1];
	return location->address >= mapping->memory_start &&
	       (location->address < mapping->memory_limit ||
		mapping->memory_limit == UINT64_MAX);
}

static const char *check_locations(const profile_message *p)
{
	for (size_t i = 0; i < p->n_location; i++) {
		const Perftools__Profiles__Location *location = p->location[i];

		if (location->id != i + 1 || location->n_line == 0 ||
		    location->mapping_id > p->n_mapping)
			return "a location makes no sense";
		for (size_t line = 0; line < location->n_line; line++) {
			uint64_t function = location->line[line]->function_id;

			if (function == 0 || function > p->n_function)
				return "a line has no function";
		}
		if (!is_in_mapping(p, location))
			return "a location lies behind its mapping";
	}
	return NULL;
}

static bool is_id(const char *text, size_t digits)
{
	return strlen(text) == digits &&
	       strspn(text, "0123456789abcdef") == digits &&
	       strspn(text, "0") < digits;
}

static const char *check_label(const profile_message *p,
			       const label_message *label)
{
	const char *key;
	const char *text;

	if (!in_table(p, label->key) || !in_table(p, label->str) || !label->key)
		return "a label makes no sense";
	key = profile_text(p, label->key);
	text = profile_text(p, label->str);
	if (strcmp(key, "span_id") == 0)
		return is_id(text, 16) ? NULL : "a span_id is none";
	if (strcmp(key, "trace_id") == 0)
		return is_id(text, 32) ? NULL : "a trace_id is none";
	if (strcmp(key, "span_name") == 0)
		return *text ? NULL : "a span_name is empty";
	if (strcmp(key, "pid") == 0)
		return label->str == 0 && label->num > 0 ? NULL
							 : "a pid is none";
	return "a label is unknown";
}

static const char *check_sample(const profile_message *p,
				const sample_message *sample)
{
	const char *fault = NULL;

	if (sample->n_location_id == 0 || sample->n_location_id > DEPTH_MAX)
		return "a stack is empty or too deep";
	for (size_t i = 0; i < sample->n_location_id; i++) {
		if (sample->location_id[i] == 0 ||
		    sample->location_id[i] > p->n_location)
			return "a frame has no location";
	}
	if (sample->n_value != 2 || sample->value[0] < 0 ||
	    sample->value[1] < 0 || (!sample->value[0] && !sample->value[1]))
		return "the values of a sample make no sense";
	for (size_t i = 0; i < sample->n_label && !fault; i++) {
		fault = check_label(p, sample->label[i]);
		for (size_t j = 0; j < i; j++) {
			if (sample->label[i]->key == sample->label[j]->key)
				fault = "a label is there twice";
		}
	}
	return fault;
}

static const char *check_message(const profile_message *p)
{
	const char *fault = check_strings(p);

	if (!fault)
		fault = check_types(p);
	if (!fault)
		fault = check_tables(p);
	if (!fault)
		fault = check_locations(p);
	if (!fault && (p->n_sample == 0 || p->n_sample > 16000))
		fault = "there are no samples, or too many";
	for (size_t i = 0; i < p->n_sample && !fault; i++)
		fault = check_sample(p, p->sample[i]);
	return fault;
}

const char *profile_check(const void *bytes, size_t length,
			  profile_message **profile)
{
	size_t plain_length;
	uint8_t *plain = profile_check_unpack(bytes, length, &plain_length);
	const char *fault = "the message is damaged";

	*profile = NULL;
	if (!plain)
		return "it is no gzip";
	if (plain_length > PROFILE_CHECK_BYTES_MAX)
		fault = "it is too large";
	else
		*profile = perftools__profiles__profile__unpack(
			NULL, plain_length, plain);
	free(plain);
	if (*profile)
		fault = check_message(*profile);
	if (fault && *profile) {
		perftools__profiles__profile__free_unpacked(*profile, NULL);
		*profile = NULL;
	}
	return fault;
}

static const label_message *find_label(const profile_message *p,
				       const sample_message *sample,
				       const char *key)
{
	for (size_t i = 0; i < sample->n_label; i++) {
		if (strcmp(profile_text(p, sample->label[i]->key), key) == 0)
			return sample->label[i];
	}
	return NULL;
}

const char *profile_label(const profile_message *p,
			  const sample_message *sample, const char *key)
{
	const label_message *label = find_label(p, sample, key);

	return label ? profile_text(p, label->str) : NULL;
}

int64_t profile_number(const profile_message *p, const sample_message *sample,
		       const char *key)
{
	const label_message *label = find_label(p, sample, key);

	return label ? label->num : 0;
}

const char *profile_frame(const profile_message *p,
			  const sample_message *sample, size_t i)
{
	uint64_t location = sample->location_id[i];
	uint64_t function = p->location[location - 1]->line[0]->function_id;

	return profile_text(p, p->function[function - 1]->name);
}

int64_t profile_sum(const profile_message *p, size_t value)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->n_sample; i++)
		sum += p->sample[i]->value[value];
	return sum;
}
