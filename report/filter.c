/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the spans that a name means.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/filter.h"

#include <stdlib.h>
#include <string.h>

#include "report/fold.h"
#include "report/mem.h"
#include "report/text.h"

typedef bool matches(const struct model *model, const struct span *span,
		     const char *name);

static bool is_operation(const struct model *model, const struct span *span,
			 const char *name)
{
	return strcmp(model_text(model, span->operation), name) == 0;
}

static bool occurs(const struct model *model, const struct span *span,
		   const char *name)
{
	return strstr(model_text(model, span->request), name) ||
	       strstr(model_text(model, span->operation), name) ||
	       strstr(model_text(model, span->name), name);
}

/* A name that was copied from a table, where it stands cleaned. */
static bool is_shown(const struct model *model, const struct span *span,
		     const char *name)
{
	char *shown = text_clean(model_text(model, span->operation));
	bool same = strcmp(shown, name) == 0;

	free(shown);
	return same;
}

static size_t mark(const struct model *model, const char *name, matches *test,
		   bool *wanted)
{
	size_t count = 0;

	for (size_t i = 1; i < model->span_count; i++) {
		wanted[i] = test(model, &model->spans[i], name);
		count += wanted[i];
	}
	return count;
}

/* The operation of a `METHOD path` that someone typed. Free with free(). */
static char *fold_typed(const char *name)
{
	size_t method = strcspn(name, " ");
	char *path, *folded;

	if (!name[method])
		return fold_path(name);
	path = fold_path(name + method + 1);
	folded = mem_printf("%.*s %s", (int)method, name, path);
	free(path);
	return folded;
}

static size_t mark_folded(const struct model *model, const char *name,
			  bool *wanted)
{
	char *folded = fold_typed(name);
	size_t count = mark(model, folded, is_operation, wanted);

	free(folded);
	return count;
}

size_t filter_spans(const struct model *model, const char *name, bool **wanted)
{
	size_t count;

	*wanted = mem_zeroed(model->span_count, sizeof(**wanted));
	if (!name) {
		memset(*wanted, true, model->span_count * sizeof(**wanted));
		return model->span_count - 1;
	}
	count = mark(model, name, is_operation, *wanted);
	if (!count)
		count = mark(model, name, occurs, *wanted);
	if (!count)
		count = mark_folded(model, name, *wanted);
	return count ? count : mark(model, name, is_shown, *wanted);
}
