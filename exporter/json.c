/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON by yajl.
 * Runs on: the exporter's main thread, and the uploading one.
 */
#include "exporter/json.h"

#include <string.h>
#include <yajl/yajl_tree.h>

#include "exporter/utf8.h"

/* yajl takes a tree apart by recursion: depth is bounded by the text's size. */
#define JSON_MAX_BYTES (64u << 10)

static yajl_val parse(const char *json)
{
	char error[64];

	if (strlen(json) > JSON_MAX_BYTES)
		return NULL;
	return yajl_tree_parse(json, error, sizeof(error));
}

bool json_text(const char *json, const char *const *path, char *to,
	       size_t to_bytes)
{
	const char *keys[8] = {NULL};
	yajl_val tree = parse(json);
	yajl_val found = NULL;
	const char *text;

	for (size_t i = 0; i < 7 && path[i]; i++)
		keys[i] = path[i];
	if (tree)
		found = yajl_tree_get(tree, keys, yajl_t_string);
	text = found ? YAJL_GET_STRING(found) : NULL;
	if (text)
		utf8_copy(to, to_bytes, text, strlen(text));
	yajl_tree_free(tree);
	return text != NULL;
}

bool json_each(const char *json,
	       void (*visit)(void *context, const char *key, const char *value),
	       void *context)
{
	yajl_val tree = parse(json);
	bool good = tree && YAJL_IS_OBJECT(tree);

	for (size_t i = 0; good && i < tree->u.object.len; i++)
		good = YAJL_IS_STRING(tree->u.object.values[i]);
	for (size_t i = 0; good && i < tree->u.object.len; i++)
		visit(context, tree->u.object.keys[i],
		      YAJL_GET_STRING(tree->u.object.values[i]));
	yajl_tree_free(tree);
	return good;
}
