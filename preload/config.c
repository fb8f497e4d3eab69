/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the configuration from the environment.
 * Runs on: the program's main thread, in the constructor, and in the exporter.
 */
#include "preload/config.h"

#include "preload/text.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

struct source {
	char *const *environment;
	config_warn *warn;
	void *context;
};

static void tell(const struct source *from,
		 const struct config_warning *warning)
{
	if (from->warn)
		from->warn(from->context, warning);
}

static void refuse(const struct source *from, const char *name,
		   const char *reason, const char *taken)
{
	struct config_warning warning = {
		.name = name,
		.value = config_lookup(from->environment, name),
		.reason = reason,
		.taken = taken,
	};

	tell(from, &warning);
}

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static bool same_word(const char *a, const char *b)
{
	while (*a && lower(*a) == *b) {
		a++;
		b++;
	}
	return *a == '\0' && *b == '\0';
}

/* One of the words (lower case, ended by NULL); -1 when it is none. */
static int word_index(const char *value, const char *const *words)
{
	for (int i = 0; words[i]; i++) {
		if (same_word(value, words[i]))
			return i;
	}
	return -1;
}

/* 1, 0, or -1 when the value is no truth value. */
static int truth(const char *value)
{
	static const char *const words[] = {"false", "true", "0",  "1", "no",
					    "yes",   "off",  "on", 0};
	int i = word_index(value, words);

	return i < 0 ? -1 : i & 1;
}

struct unit {
	const char *name;
	uint64_t factor;
};

/* A whole number with one of the units, which may be written "". */
static bool quantity(const char *value, const struct unit *units,
		     uint64_t *result)
{
	uint64_t number;

	if (!text_number_sig(&value, 10, &number))
		return false;
	for (; units->name; units++) {
		if (same_word(value, units->name))
			return !__builtin_mul_overflow(number, units->factor,
						       result);
	}
	return false;
}

static void read_disabled(struct config *config, const struct source *from)
{
	const char *off = config_lookup(from->environment, "SPANPROF_DISABLED");
	const char *on = config_lookup(from->environment, "SPANPROF_ENABLED");

	if (off && truth(off) < 0)
		refuse(from, "SPANPROF_DISABLED", "not true or false", "false");
	if (on && truth(on) < 0)
		refuse(from, "SPANPROF_ENABLED", "not true or false", "true");
	config->disabled = (off && truth(off) == 1) || (on && truth(on) == 0);
}

static void read_rate(struct config *config, const struct source *from)
{
	static const struct unit hertz[] = {{"", 1}, {"hz", 1}, {0, 0}};
	const char *value = config_lookup(from->environment, "SPANPROF_RATE");
	uint64_t rate;

	config->rate_hz = 100;
	if (!value)
		return;
	if (!quantity(value, hertz, &rate) || rate < 1 || rate > 1000)
		refuse(from, "SPANPROF_RATE", "not a number from 1 to 1000",
		       "100");
	else
		config->rate_hz = (uint32_t)rate;
}

static void read_interval(struct config *config, const struct source *from)
{
	static const struct unit time[] = {
		{"s", 1000}, {"", 1000}, {"ms", 1}, {0, 0}};
	const char *value =
		config_lookup(from->environment, "SPANPROF_INTERVAL");
	uint64_t interval;

	config->interval_ms = 10000;
	if (!value)
		return;
	if (!quantity(value, time, &interval) || interval < 1000 ||
	    interval > 15000)
		refuse(from, "SPANPROF_INTERVAL", "not a time from 1s to 15s",
		       "10s");
	else
		config->interval_ms = (uint32_t)interval;
}

static void read_spans(struct config *config, const struct source *from)
{
	static const char *const words[] = {"root", "all", "none", 0};
	const char *value = config_lookup(from->environment, "SPANPROF_SPANS");
	int word = value ? word_index(value, words) : 0;

	if (word < 0) {
		refuse(from, "SPANPROF_SPANS", "not root, all or none", "root");
		word = 0;
	}
	config->spans = (enum config_spans)word;
}

static void read_output_max(struct config *config, const struct source *from)
{
	static const struct unit bytes[] = {
		{"", 1},         {"b", 1},           {"k", 1024},
		{"kib", 1024},   {"m", MIB},         {"mib", MIB},
		{"g", GIB},      {"gib", GIB},       {"kb", 1000},
		{"mb", 1000000}, {"gb", 1000000000}, {0, 0}};
	const char *value =
		config_lookup(from->environment, "SPANPROF_OUTPUT_MAX");
	uint64_t size;

	config->output_max_bytes = GIB;
	if (!value)
		return;
	if (!quantity(value, bytes, &size) || size < MIB)
		refuse(from, "SPANPROF_OUTPUT_MAX",
		       "not a size of at least 1MiB", "1GiB");
	else
		config->output_max_bytes = size;
}

static void read_path(char *path, const struct source *from, const char *name,
		      const char *otherwise)
{
	const char *value = config_lookup(from->environment, name);

	text_copy_sig(path, CONFIG_PATH_BYTES, otherwise);
	if (!value)
		return;
	if (!text_copy_sig(path, CONFIG_PATH_BYTES, value)) {
		refuse(from, name, "longer than 1023 bytes",
		       *otherwise ? otherwise : "none");
		text_copy_sig(path, CONFIG_PATH_BYTES, otherwise);
	}
}

static void read_log_level(struct config *config, const struct source *from)
{
	static const char *const words[] = {"error", "warn", "info", "debug",
					    0};
	const char *value =
		config_lookup(from->environment, "SPANPROF_LOG_LEVEL");
	int word = value ? word_index(value, words) : CONFIG_LOG_WARN;

	if (word < 0) {
		refuse(from, "SPANPROF_LOG_LEVEL",
		       "not error, warn, info or debug", "warn");
		word = CONFIG_LOG_WARN;
	}
	config->log_level = (enum config_log_level)word;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies a percent-encoded value that ends at a comma. Returns false when it
 * is not well formed or too long. */
static bool decode_percent(char *to, const char *from)
{
	size_t used = 0;

	for (; *from && *from != ','; from++) {
		char c = *from;

		if (c == '%') {
			int high = hex_digit(from[1]);
			int low = high < 0 ? -1 : hex_digit(from[2]);

			if (low < 0 || (high | low) == 0)
				return false;
			c = (char)(high << 4 | low);
			from += 2;
		}
		if (used + 1 >= CONFIG_SERVICE_BYTES)
			return false;
		to[used++] = c;
	}
	to[used] = '\0';
	return used > 0;
}

/* Precedence: SPANPROF_SERVICE, PYROSCOPE_APPLICATION_NAME, OTEL_SERVICE_NAME,
 * service.name of OTEL_RESOURCE_ATTRIBUTES. */
static void read_service(struct config *config, const struct source *from)
{
	static const char *const names[] = {"SPANPROF_SERVICE",
					    "PYROSCOPE_APPLICATION_NAME",
					    "OTEL_SERVICE_NAME", 0};

	for (int i = 0; names[i]; i++) {
		const char *value = config_lookup(from->environment, names[i]);

		if (!value)
			continue;
		if (text_copy_sig(config->service, CONFIG_SERVICE_BYTES, value))
			return;
		refuse(from, names[i], "longer than 255 bytes", "the next one");
	}
	if (!config_resource_attribute(from->environment, "service.name",
				       config->service))
		config->service[0] = '\0';
}

static void read_trace_id(struct config *config, const struct source *from)
{
	const char *value =
		config_lookup(from->environment, "SPANPROF_TRACE_ID");

	config->trace_id = CONFIG_TRACE_ID_AUTO;
	if (!value || same_word(value, "auto"))
		return;
	if (truth(value) < 0)
		refuse(from, "SPANPROF_TRACE_ID", "not auto, true or false",
		       "auto");
	else
		config->trace_id = truth(value) ? CONFIG_TRACE_ID_TRUE
						: CONFIG_TRACE_ID_FALSE;
}

static const char *const servers[] = {"SPANPROF_SERVER",
				      "PYROSCOPE_SERVER_ADDRESS", 0};

static const char *behind_scheme(const char *url)
{
	static const char *const schemes[] = {"http://", "https://", 0};

	for (int i = 0; schemes[i]; i++) {
		const char *u = url;
		const char *s = schemes[i];

		while (*s && lower(*u) == *s) {
			u++;
			s++;
		}
		if (!*s)
			return u;
	}
	return 0;
}

/* A colon and a number up to 65535, or nothing. */
static bool is_port(const char *text, const char *end)
{
	uint64_t number;

	if (text == end)
		return true;
	text++;
	return text_number_sig(&text, 10, &number) && text == end &&
	       number > 0 && number < 65536;
}

/* The part of a URL between its scheme and its path. */
static bool is_authority(const char *text, const char *end)
{
	const char *host = text;
	const char *after = end;

	for (const char *p = text; p < end; p++) {
		if (*p == '@')
			host = p + 1;
	}
	for (const char *p = host; p < end; p++) {
		if (*p == ']')
			after = end;
		else if (*p == ':' && (*host != '[' || p[-1] == ']'))
			after = p;
	}
	return after > host && is_port(after, end);
}

/* What is wrong with a URL to push to; NULL if nothing is. */
static const char *url_fault(const char *url)
{
	const char *authority = behind_scheme(url);
	const char *end = authority;

	if (!authority)
		return "no http:// or https:// URL";
	for (const char *p = url; *p; p++) {
		if (*p <= ' ' || *p == 127 || *p == '?' || *p == '#')
			return "not the base of a URL (no spaces, ? or #)";
	}
	while (*end && *end != '/')
		end++;
	if (!is_authority(authority, end))
		return "a URL without a host, or with a port that is none";
	return text_length_sig(url) < CONFIG_PATH_BYTES
		       ? 0
		       : "longer than 1023 bytes";
}

static void read_server(const struct source *from)
{
	const char *taken = config_server(from->environment);

	for (int i = 0; servers[i]; i++) {
		const char *value =
			config_lookup(from->environment, servers[i]);
		struct config_warning warning = {
			.name = servers[i],
			.value = "...",
			.reason = value ? url_fault(value) : 0,
			.taken = taken ? "the next one" : "none",
		};

		if (value && value == taken)
			return;
		if (value)
			tell(from, &warning);
	}
}

const char *config_lookup(char *const *environment, const char *name)
{
	for (; environment && *environment; environment++) {
		const char *rest = text_after_sig(*environment, name);

		if (rest && *rest == '=')
			return rest[1] ? rest + 1 : 0;
	}
	return 0;
}

const char *config_server(char *const *environment)
{
	for (int i = 0; servers[i]; i++) {
		const char *value = config_lookup(environment, servers[i]);

		if (value && !url_fault(value))
			return value;
	}
	return 0;
}

bool config_resource_attribute(char *const *environment, const char *key,
			       char to[CONFIG_SERVICE_BYTES])
{
	const char *attributes =
		config_lookup(environment, "OTEL_RESOURCE_ATTRIBUTES");

	while (attributes && *attributes) {
		const char *value;

		while (*attributes == ' ')
			attributes++;
		value = text_after_sig(attributes, key);
		if (value && *value == '=')
			return decode_percent(to, value + 1);
		while (*attributes && *attributes++ != ',')
			;
	}
	return false;
}

void config_read(struct config *config, char *const *environment,
		 config_warn *warn, void *context)
{
	struct source from = {environment, warn, context};

	read_disabled(config, &from);
	read_rate(config, &from);
	read_interval(config, &from);
	read_spans(config, &from);
	read_output_max(config, &from);
	read_trace_id(config, &from);
	read_server(&from);
	read_path(config->output, &from, "SPANPROF_OUTPUT",
		  config_server(environment) ? "" : "spanprof.out");
	read_path(config->log, &from, "SPANPROF_LOG", "");
	read_log_level(config, &from);
	read_service(config, &from);
}
