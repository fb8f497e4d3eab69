/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the ids of spans and traces.
 * Runs on: any thread of the spanprof command.
 */
#include "report/spanid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SPAN_DIGITS 16u
#define TRACE_DIGITS 32u
#define SHORTEST_PREFIX 4u

/* The value of each digit plus 1; 0 for all other characters. */
static const uint8_t digit_values[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Reads `count` digits; false when one of them is none. */
static bool read_digits(const char *text, unsigned int count, uint64_t *value)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < count; i++) {
		uint8_t digit = digit_values[(uint8_t)text[i]];

		if (!digit)
			return false;
		sum = sum << 4 | (digit - 1u);
	}
	*value = sum;
	return true;
}

bool spanid_parse(const char *text, uint64_t *id)
{
	uint64_t value;

	if (!read_digits(text, SPAN_DIGITS, &value) || text[SPAN_DIGITS] ||
	    !value)
		return false;
	*id = value;
	return true;
}

bool traceid_parse(const char *text, struct trace_id *id)
{
	struct trace_id value;

	if (!read_digits(text, SPAN_DIGITS, &value.high) ||
	    !read_digits(text + SPAN_DIGITS, SPAN_DIGITS, &value.low) ||
	    text[TRACE_DIGITS] || traceid_is_none(value))
		return false;
	*id = value;
	return true;
}

void spanid_format(char text[SPANID_TEXT_BYTES], uint64_t id)
{
	snprintf(text, SPANID_TEXT_BYTES, "%016" PRIx64, id);
}

void traceid_format(char text[TRACEID_TEXT_BYTES], struct trace_id id)
{
	snprintf(text, TRACEID_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, id.high,
		 id.low);
}

bool traceid_is_none(struct trace_id id)
{
	return !id.high && !id.low;
}

/* Steps over a key and its '='; the text itself when there is none. */
static const char *skip_key(const char *text, bool *is_trace)
{
	static const char *const keys[] = {
		"span_id=", "profile_id=", "trace_id="};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t length = strlen(keys[i]);

		if (strncmp(text, keys[i], length) != 0)
			continue;
		*is_trace = i == 2;
		return text + length;
	}
	return text;
}

static bool read_prefix(struct spanid_query *query, const char *text)
{
	unsigned int high = query->digits, low = 0;

	if (high > SPAN_DIGITS) {
		low = high - SPAN_DIGITS;
		high = SPAN_DIGITS;
	}
	if (!read_digits(text, high, &query->value.high) ||
	    !read_digits(text + high, low, &query->value.low))
		return false;
	query->value.high <<= 4 * (SPAN_DIGITS - high);
	if (low)
		query->value.low <<= 4 * (SPAN_DIGITS - low);
	return true;
}

int spanid_query_parse(struct spanid_query *query, const char *text)
{
	const char *typed = text;
	size_t digits;

	*query = (struct spanid_query){0};
	text = skip_key(text, &query->is_trace);
	query->bare = text == typed;
	digits = strlen(text);
	if (digits < SHORTEST_PREFIX || digits > TRACE_DIGITS)
		return -EINVAL;
	query->digits = (unsigned int)digits;
	query->is_trace |= digits > SPAN_DIGITS;
	return read_prefix(query, text) ? 0 : -EINVAL;
}

/* Whether two left-aligned words agree in their first `digits` digits. */
static bool begins_alike(uint64_t a, uint64_t b, unsigned int digits)
{
	if (digits == 0)
		return true;
	if (digits >= SPAN_DIGITS)
		return a == b;
	return (a ^ b) >> (4 * (SPAN_DIGITS - digits)) == 0;
}

bool spanid_query_matches(const struct spanid_query *query, uint64_t span,
			  struct trace_id trace)
{
	unsigned int low;

	if (!query->is_trace)
		return begins_alike(query->value.high, span, query->digits);
	low = query->digits > SPAN_DIGITS ? query->digits - SPAN_DIGITS : 0;
	return begins_alike(query->value.high, trace.high, query->digits) &&
	       begins_alike(query->value.low, trace.low, low);
}
