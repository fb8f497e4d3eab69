/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads where to push.
 * Runs on: the exporter's main thread.
 */
#include "exporter/destination.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exporter/json.h"
#include "preload/config.h"

/* A value of a header: visible ASCII, spaces, and bytes above (RFC 9110
 * §5.5); a line break would begin a header of somebody else's. */
static bool is_value(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	}
	return true;
}

static bool is_name(const char *text)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789"
				    "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return *text && text[strspn(text, token)] == '\0';
}

/* What says how the body is to be read. */
static bool is_ours(const char *name)
{
	static const char *const names[] = {"Content-Type", "Content-Length",
					    "Content-Encoding",
					    "Transfer-Encoding", "Expect"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcasecmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* A header of that name is replaced. */
static int set_header(struct destination *d, const char *name,
		      const char *value)
{
	size_t length = strlen(name);
	char *header;
	size_t i = 0;

	while (i < d->header_count &&
	       (strncasecmp(d->headers[i], name, length) != 0 ||
		d->headers[i][length] != ':'))
		i++;
	if (i == DESTINATION_HEADERS_MAX)
		return -E2BIG;
	if (asprintf(&header, "%s: %s", name, value) < 0)
		return -ENOMEM;
	free(d->headers[i]);
	d->headers[i] = header;
	d->header_count += i == d->header_count;
	return 0;
}

static char *base64(const char *from)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t bytes = strlen(from);
	char *result = malloc((bytes + 2) / 3 * 4 + 1);
	char *to = result;

	for (size_t i = 0; result && i < bytes; i += 3) {
		unsigned three = (unsigned)(unsigned char)from[i] << 16;

		if (i + 1 < bytes)
			three |= (unsigned)(unsigned char)from[i + 1] << 8;
		if (i + 2 < bytes)
			three |= (unsigned char)from[i + 2];
		for (int shift = 18; shift >= 0; shift -= 6)
			*to++ = digits[three >> shift & 63];
		if (i + 2 >= bytes)
			to[-1] = '=';
		if (i + 1 >= bytes)
			to[-2] = '=';
	}
	if (result)
		*to = '\0';
	return result;
}

static int set_authorization(struct destination *d, const char *scheme,
			     const char *secret)
{
	char *value;
	int error;

	if (!secret || asprintf(&value, "%s %s", scheme, secret) < 0)
		return -ENOMEM;
	error = set_header(d, "Authorization", value);
	free(value);
	return error;
}

static int set_basic(struct destination *d, const char *user,
		     const char *password)
{
	char *both;
	char *coded;
	int error;

	if (asprintf(&both, "%s:%s", user, password) < 0)
		return -ENOMEM;
	coded = base64(both);
	error = set_authorization(d, "Basic", coded);
	free(d->password);
	d->password = strdup(password);
	free(coded);
	free(both);
	return error;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A percent-encoded text, in place; what isn't well formed stays. */
static void decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int high = *text == '%' ? digit(text[1]) : -1;
		int low = high < 0 ? -1 : digit(text[2]);

		if (low >= 0 && (high | low)) {
			*to++ = (char)(high << 4 | low);
			text += 2;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* USER[:PASSWORD] */
static int take_user(struct destination *d, char *user)
{
	char *password = strchr(user, ':');

	if (password)
		*password++ = '\0';
	decode(user);
	if (password)
		decode(password);
	return set_basic(d, user, password ? password : "");
}

static bool is_loopback(const char *host)
{
	size_t length = strcspn(host, ":/");

	return strncasecmp(host, "[::1]", 5) == 0 ||
	       (length == 9 && strncasecmp(host, "localhost", 9) == 0) ||
	       (strncmp(host, "127.", 4) == 0 &&
		strspn(host, "0123456789.") == length);
}

/* config_server() has looked at its form. */
static int take_url(struct destination *d, const char *from)
{
	char *url = strdup(from);
	char *host = url ? strstr(url, "://") + 3 : NULL;
	char *last = NULL;
	size_t length;
	int error = 0;

	if (!url)
		return -ENOMEM;
	d->url = url;
	for (char *p = host; *p && *p != '/'; p++) {
		if (*p == '@')
			last = p;
	}
	if (last) {
		*last++ = '\0';
		error = take_user(d, host);
		memmove(host, last, strlen(last) + 1);
	}
	d->is_loopback = is_loopback(host);
	length = strlen(url);
	while (url[length - 1] == '/')
		url[--length] = '\0';
	return error;
}

struct reading {
	struct destination *destination;
	char *const *environment;
	destination_warn *warn;
	const char *name; /* of the variable at hand */
	int error;
};

/* The value of the variable, if it can stand in a header. */
static const char *header_value(struct reading *r, const char *name)
{
	const char *value = config_lookup(r->environment, name);

	if (!value || is_value(value))
		return value;
	r->warn(name, "it holds control characters; not used");
	return NULL;
}

static void take_authorization(struct reading *r)
{
	const char *user = header_value(r, "PYROSCOPE_BASIC_AUTH_USER");
	const char *word = header_value(r, "PYROSCOPE_BASIC_AUTH_PASSWORD");
	const char *token = header_value(r, "PYROSCOPE_AUTH_TOKEN");
	struct destination *d = r->destination;

	if (user)
		r->error = set_basic(d, user, word ? word : "");
	else if (token && !d->password)
		r->error = set_authorization(d, "Bearer", token);
}

static void take_header(void *context, const char *name, const char *value)
{
	struct reading *r = context;

	if (!is_name(name) || !is_value(value))
		r->warn(r->name, "a name or value can't stand in a header; "
				 "that one is not used");
	else if (is_ours(name))
		r->warn(r->name, "it sets what the body depends on; that one "
				 "is not used");
	else if (set_header(r->destination, name, value) == -E2BIG)
		r->warn(r->name, "too many headers");
}

static void take_headers(struct reading *r)
{
	const char *json;

	r->name = "PYROSCOPE_HTTP_HEADERS";
	json = config_lookup(r->environment, r->name);
	if (json && !json_each(json, take_header, r))
		r->warn(r->name, "no JSON object of texts; not used");
}

int destination_init(struct destination *destination, char *const *environment,
		     destination_warn *warn)
{
	struct reading r = {destination, environment, warn, NULL, 0};
	const char *server = config_server(environment);
	const char *tenant;

	memset(destination, 0, sizeof(*destination));
	if (!server)
		return -ENOENT;
	r.error = take_url(destination, server);
	tenant = header_value(&r, "SPANPROF_TENANT_ID");
	if (!tenant)
		tenant = header_value(&r, "PYROSCOPE_TENANT_ID");
	if (!r.error && tenant)
		r.error = set_header(destination, "X-Scope-OrgID", tenant);
	if (!r.error)
		take_authorization(&r);
	if (!r.error)
		take_headers(&r);
	destination->ca_file = config_lookup(environment, "SSL_CERT_FILE");
	destination->ca_path = config_lookup(environment, "SSL_CERT_DIR");
	if (r.error)
		destination_fini(destination);
	return r.error;
}

void destination_fini(struct destination *destination)
{
	for (size_t i = 0; i < destination->header_count; i++)
		free(destination->headers[i]);
	free(destination->password);
	free(destination->url);
	memset(destination, 0, sizeof(*destination));
}

/* Short ones would hide the text rather than a secret. */
#define SECRET_MIN_BYTES 4u

static void hide(const char *secret, char *text)
{
	size_t length = secret ? strlen(secret) : 0;

	if (length < SECRET_MIN_BYTES)
		return;
	while ((text = strstr(text, secret)))
		memset(text, '*', length);
}

void destination_hide(const struct destination *destination, char *text)
{
	for (size_t i = 0; i < destination->header_count; i++) {
		const char *value = strchr(destination->headers[i], ':') + 2;
		const char *word = strchr(value, ' ');

		if (strncasecmp(destination->headers[i],
				"X-Scope-OrgID:", 14) == 0)
			continue;
		hide(value, text);
		if (word)
			hide(word + 1, text);
	}
	hide(destination->password, text);
}
