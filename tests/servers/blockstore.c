/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo: a block store in memory for several tenants, over HTTP.
 * Runs on: main() on the main thread, the rest on connection threads.
 *
 *   PUT  /tenants/TENANT/blocks/ID   stores lines of "SYMBOL VALUE"
 *   GET  /tenants/TENANT/blocks/ID   gives them back
 *   POST /tenants/TENANT/compact     merges all that can be merged
 *
 * An upload that makes a level full is compacted inside its request. For all
 * tenants but one that takes no time worth mentioning.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/servers/blockstore_levels.h"
#include "tests/servers/http.h"
#include "tests/servers/service.h"

#define STORY __attribute__((noinline, used))

#define TENANTS 64

struct tenant {
	char name[64];
	pthread_mutex_t lock; /* guards the levels */
	struct levels levels;
};

static pthread_mutex_t tenants_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tenant *tenants[TENANTS];

static struct tenant *tenant_find_locked(const char *name)
{
	uint32_t i;

	for (i = 0; i < TENANTS && tenants[i]; i++)
		if (strcmp(tenants[i]->name, name) == 0)
			return tenants[i];
	if (i == TENANTS)
		return NULL;
	tenants[i] = calloc(1, sizeof(*tenants[i]));
	if (!tenants[i])
		return NULL;
	pthread_mutex_init(&tenants[i]->lock, NULL);
	snprintf(tenants[i]->name, sizeof(tenants[i]->name), "%s", name);
	return tenants[i];
}

/* The tenant of that name, a new one if need be; NULL when there are too many.
 * Tenants live as long as the process. */
static struct tenant *tenant_find(const char *name)
{
	struct tenant *tenant;

	pthread_mutex_lock(&tenants_lock);
	tenant = tenant_find_locked(name);
	pthread_mutex_unlock(&tenants_lock);
	return tenant;
}

/* A response and the memory that its body is in, NULL for a constant. */
struct answer {
	struct http_response response;
	char *text;
};

static struct answer say(unsigned status, const char *text)
{
	return (struct answer){{status, text, strlen(text)}, NULL};
}

STORY static struct answer put_block(struct tenant *t, const char *id,
				     char *text)
{
	struct block *b = block_parse(id, text);
	bool stored;

	if (!b)
		return say(400, "a line is no SYMBOL VALUE\n");
	pthread_mutex_lock(&t->lock);
	stored = levels_store(&t->levels, b);
	if (stored)
		levels_compact(&t->levels, levels_usual);
	pthread_mutex_unlock(&t->lock);
	if (stored)
		return say(201, "stored\n");
	block_destroy(b);
	return say(500, "too many blocks\n");
}

STORY static struct answer get_block(struct tenant *t, const char *id)
{
	size_t bytes;
	char *text;

	pthread_mutex_lock(&t->lock);
	text = levels_load(&t->levels, id, &bytes);
	pthread_mutex_unlock(&t->lock);
	if (!text)
		return say(404, "no such block\n");
	return (struct answer){{200, text, bytes}, text};
}

STORY static struct answer compact_tenant(struct tenant *t)
{
	unsigned merged;

	pthread_mutex_lock(&t->lock);
	merged = levels_compact(&t->levels, levels_least);
	pthread_mutex_unlock(&t->lock);
	return say(200, merged ? "compacted\n" : "nothing to compact\n");
}

/* Splits "/tenants/TENANT/blocks/ID" and "/tenants/TENANT/compact"; `id` stays
 * empty for the second. Both have room for 64 bytes. */
static bool split_path(const char *path, char *tenant, char *id)
{
	char word[8] = "", rest[2] = "";

	*id = '\0';
	if (sscanf(path, "/tenants/%63[^/]/blocks/%63[^/]%1s", tenant, id,
		   rest) == 2)
		return true;
	*id = '\0';
	return sscanf(path, "/tenants/%63[^/]/%7s%1s", tenant, word, rest) ==
		       2 &&
	       strcmp(word, "compact") == 0;
}

static struct answer route(struct http_request *r)
{
	char name[64], id[64];
	struct tenant *tenant;

	if (!split_path(r->path, name, id))
		return say(404, "no such path\n");
	tenant = tenant_find(name);
	if (!tenant)
		return say(500, "too many tenants\n");
	if (*id && strcmp(r->method, "GET") == 0)
		return get_block(tenant, id);
	if (*id && strcmp(r->method, "PUT") == 0 && r->body)
		return put_block(tenant, id, r->body);
	if (!*id && strcmp(r->method, "POST") == 0)
		return compact_tenant(tenant);
	return say(405, "not by this method\n");
}

static bool serve_request(struct http_connection *c, struct http_request *r)
{
	struct answer answer = route(r);
	int rc = http_respond(c, r, &answer.response);

	free(answer.text);
	return rc == 0 && r->keep_alive;
}

static void serve(int fd)
{
	struct http_connection *c = malloc(sizeof(*c));
	struct http_request r;
	bool keep = c != NULL;

	if (c)
		http_connection_init(c, fd, &http_plain_calls);
	while (keep && http_read_request(c, &r) == 1) {
		keep = serve_request(c, &r);
		http_request_fini(&r);
	}
	service_close(fd);
	free(c);
}

int main(int argc, char **argv)
{
	struct service service = {.serve = serve};
	int rc;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
		fprintf(stderr, "usage: blockstore [PORT]\n");
		return 2;
	}
	if (argc == 2)
		service.port = (uint16_t)atoi(argv[1]);
	rc = service_run(&service);
	if (rc < 0)
		fprintf(stderr, "blockstore: %s\n", strerror(-rc));
	return rc < 0;
}
