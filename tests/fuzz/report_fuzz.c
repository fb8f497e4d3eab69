/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes to the readers of report/ and what they make of them to
 * the rest: store, sums, tree, JSON, clean texts. The first byte chooses the
 * reader: 'p' pprof, 's' spans, 'g' gzip'ed pprof.
 * Runs on: the fuzzer's main thread.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/gunzip.h"
#include "report/json_out.h"
#include "report/model.h"
#include "report/text.h"
#include "report/verdict.h"

/* A bomb must be refused, not unpacked. */
#define UNPACKED_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every text must end, and be clean after cleaning. */
static void use_texts(const struct model *model)
{
	for (uint32_t i = 0; i < intern_count(model->texts); i++) {
		char *clean = text_clean(model_text(model, i));
		char *again = text_clean(clean);
		char *cut = text_cut_middle(clean, 20);

		if (strcmp(clean, again) != 0 || text_width(cut) > 20)
			abort();
		free(clean);
		free(again);
		free(cut);
	}
}

static void use_spans(const struct model *model)
{
	for (size_t i = 1; i < model->span_count; i++) {
		json_t *object = json_out_span(model, &model->spans[i]);

		json_decref(object);
		free(verdict_text(model, &model->spans[i]));
		free(verdict_gap(&model->spans[i]));
	}
}

static void use_samples(const struct model *model)
{
	struct function_sums functions;
	struct stack_sums stacks = {0};
	struct tree tree;

	for (size_t i = 0; i < model->span_count; i++)
		stack_sums_add(&stacks, model, i);
	function_sums_collect(&functions, model, &stacks);
	tree_build(&tree, model, &stacks);
	if (tree.nodes[0].total_ns != model->cpu_ns)
		abort();
	json_decref(json_out_functions(model, &functions, SIZE_MAX));
	json_decref(json_out_tree(model, &tree));
	tree_fini(&tree);
	function_sums_fini(&functions);
	stack_sums_fini(&stacks);
}

static void read_profile(struct model *model, const uint8_t *data, size_t size)
{
	struct profile profile;
	struct fault fault;

	if (profile_read(&profile, data, size, &fault))
		return;
	model_merge_profile(model, &profile);
	profile_fini(&profile);
	if (profile_read_lines(&profile, data, size, &fault))
		return;
	for (size_t i = 0; i < profile.frame_count; i++)
		if (profile.frames[i] >= profile.text_count)
			abort();
	profile_fini(&profile);
}

static void read_packed(struct model *model, const uint8_t *data, size_t size)
{
	struct bytes packed = {malloc(size + 1), size}, unpacked;
	struct fault fault;

	memcpy(packed.data, data, size);
	if (gunzip_bytes(&unpacked, &packed, UNPACKED_MAX, &fault) == 0) {
		if (unpacked.length > UNPACKED_MAX)
			abort();
		read_profile(model, unpacked.data, unpacked.length);
		free(unpacked.data);
	}
	free(packed.data);
}

static void read_spans(struct model *model, const uint8_t *data, size_t size)
{
	struct span_file file;
	struct fault fault;

	span_file_read(&file, (const char *)data, size, &fault);
	model_merge_spans(model, &file);
	span_file_fini(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model *model;

	if (size == 0)
		return 0;
	text_init();
	model = model_create();
	if (data[0] == 'p')
		read_profile(model, data + 1, size - 1);
	else if (data[0] == 's')
		read_spans(model, data + 1, size - 1);
	else if (data[0] == 'g')
		read_packed(model, data + 1, size - 1);
	model_finish(model);
	use_texts(model);
	use_spans(model);
	use_samples(model);
	model_destroy(model);
	return 0;
}
