/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the inputs: files are unpacked and parsed side by side and merged in
 * order, so that the result doesn't depend on which was quicker.
 * Runs on: the main thread of the spanprof command and its workers.
 */
#include "report/load.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/gunzip.h"
#include "report/inputs.h"
#include "report/message.h"

/* Each holds one file unpacked and parsed. */
#define WORKERS_MAX 4

struct loader {
	const struct inputs *inputs;
	bool lines;
	struct model *model;
	_Atomic size_t next; /* the file to be read next; all workers */
	pthread_mutex_t turn_lock;
	pthread_cond_t turn_changed;
	/* Under turn_lock: the file to be merged next; bad files so far. */
	size_t turn, failures;
};

/* What a file held. */
struct loaded {
	struct profile profile;
	struct span_file spans;
	struct fault fault;
	int error;
};

static void read_spans(struct loaded *loaded, const struct bytes *bytes)
{
	loaded->error =
		span_file_read(&loaded->spans, (const char *)bytes->data,
			       bytes->length, &loaded->fault);
}

static void read_profile(struct loaded *loaded, const struct bytes *bytes,
			 bool lines)
{
	loaded->error = (lines ? profile_read_lines : profile_read)(
		&loaded->profile, bytes->data, bytes->length, &loaded->fault);
}

static void read_input(struct loaded *loaded, const struct input_file *file,
		       bool lines)
{
	struct bytes bytes;

	memset(loaded, 0, sizeof(*loaded));
	loaded->error = gunzip_file(&bytes, file->path, &loaded->fault);
	if (loaded->error)
		return;
	if (file->spans)
		read_spans(loaded, &bytes);
	else
		read_profile(loaded, &bytes, lines);
	free(bytes.data);
}

/* Waits for the turn of a file. Returns with turn_lock held. */
static void await_turn(struct loader *loader, size_t number)
{
	pthread_mutex_lock(&loader->turn_lock);
	while (loader->turn != number)
		pthread_cond_wait(&loader->turn_changed, &loader->turn_lock);
}

static void merge_locked(struct loader *loader, const struct input_file *file,
			 const struct loaded *loaded)
{
	/* Between listing and reading the oldest files may go. */
	if (loaded->error && loaded->error != -ENOENT) {
		message("%s: %s", file->path, loaded->fault.text);
		loader->failures++;
	}
	if (file->spans)
		model_merge_spans(loader->model, &loaded->spans);
	else if (!loaded->error)
		model_merge_profile(loader->model, &loaded->profile);
}

static void end_turn_locked(struct loader *loader)
{
	loader->turn++;
	pthread_cond_broadcast(&loader->turn_changed);
	pthread_mutex_unlock(&loader->turn_lock);
}

static void *work(void *argument)
{
	struct loader *loader = argument;

	for (;;) {
		size_t number = atomic_fetch_add(&loader->next, 1);
		const struct input_file *file;
		struct loaded loaded;

		if (number >= loader->inputs->count)
			return NULL;
		file = &loader->inputs->files[number];
		read_input(&loaded, file, loader->lines);
		await_turn(loader, number);
		merge_locked(loader, file, &loaded);
		end_turn_locked(loader);
		span_file_fini(&loaded.spans);
		if (!loaded.error)
			profile_fini(&loaded.profile);
	}
}

static size_t count_workers(const struct inputs *inputs)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = processors > 1 ? (size_t)processors : 1;

	if (count > WORKERS_MAX)
		count = WORKERS_MAX;
	return count < inputs->count ? count : inputs->count;
}

/* The main thread works too: without further threads it just takes longer. */
static void read_inputs(struct loader *loader)
{
	pthread_t threads[WORKERS_MAX];
	size_t workers = count_workers(loader->inputs), started = 0;

	/* Once, before there are threads: jansson's hash seed is global. */
	json_object_seed(0);
	while (started + 1 < workers &&
	       pthread_create(&threads[started], NULL, work, loader) == 0)
		started++;
	work(loader);
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

/* Says why there is nothing to show when every input was fine. */
static void explain_nothing(const struct inputs *inputs, const char *path)
{
	if (inputs->others)
		message("%s: no profiles in it: none of its %zu files is named "
			"*.pb.gz or *.spans.jsonl.gz. Name the folder that "
			"SPANPROF_OUTPUT named",
			path, inputs->others);
	else
		message("%s: no profiles in it yet. The first is written when "
			"a window ends (10 s) or the program does, if it used "
			"CPU time: wait, or record with 'spanprof-run PROGRAM'",
			path);
}

static size_t add_inputs(struct inputs *inputs, const struct options *options)
{
	size_t failures = 0;

	for (size_t i = 0; i < options->input_count; i++)
		failures += inputs_add(inputs, options->inputs[i]) < 0;
	return failures;
}

int load_model(struct model **model, const struct options *options)
{
	struct inputs inputs = {0};
	size_t failures = add_inputs(&inputs, options);
	struct loader loader = {
		.inputs = &inputs,
		.lines = options->lines,
		.model = model_create(),
		.turn_lock = PTHREAD_MUTEX_INITIALIZER,
		.turn_changed = PTHREAD_COND_INITIALIZER,
		.failures = failures,
	};

	read_inputs(&loader);
	*model = loader.model;
	if (loader.model->profiles == 0 && loader.model->span_count == 1) {
		if (loader.failures == 0)
			explain_nothing(&inputs, options->inputs[0]);
		loader.failures++;
		model_destroy(loader.model);
		*model = NULL;
	} else {
		model_finish(loader.model);
	}
	inputs_fini(&inputs);
	return loader.failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
