/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where to push and with which credentials, from the environment:
 *
 *	SPANPROF_SERVER, PYROSCOPE_SERVER_ADDRESS     base URL
 *(preload/config.h) SPANPROF_TENANT_ID, PYROSCOPE_TENANT_ID       X-Scope-OrgID
 *	PYROSCOPE_BASIC_AUTH_USER and _PASSWORD, or USER:PASSWORD@ in the URL,
 *	or PYROSCOPE_AUTH_TOKEN (bearer)              Authorization
 *	PYROSCOPE_HTTP_HEADERS                        {"Name": "value"}, these
 *win SSL_CERT_FILE, SSL_CERT_DIR                   whom to trust
 *
 * Secrets live here and nowhere else.
 */
#ifndef EXPORTER_DESTINATION_H
#define EXPORTER_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>

#define DESTINATION_HEADERS_MAX 32u

struct destination {
	char *url; /* http(s)://host[:port][/path], no user, no closing / */
	/* "Name: value", ended by NULL: as curl wants them. */
	char *headers[DESTINATION_HEADERS_MAX + 1];
	size_t header_count;
	char *password;      /* in the clear; NULL: none */
	bool is_loopback;    /* never through a proxy */
	const char *ca_file; /* in the environment; NULL: the usual one */
	const char *ca_path;
};

/* Told of each value that was not taken, without the value. */
typedef void destination_warn(const char *name, const char *reason);

/* `environment` outlives the destination. Returns 0, -ENOENT when no server is
 * set, or -ENOMEM. */
int destination_init(struct destination *destination, char *const *environment,
		     destination_warn *warn);
void destination_fini(struct destination *destination);

/* Replaces each secret in a text, which a server may have sent back, by
 * asterisks. */
void destination_hide(const struct destination *destination, char *text);

#endif
