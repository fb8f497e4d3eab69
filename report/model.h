/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that was read, joined: spans with their samples. Files are merged
 * in one by one; model_finish sorts; after that it is only looked at.
 *
 * Spans are known by their span id alone: a sample needs no trace to belong.
 */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/idmap.h"
#include "report/intern.h"
#include "report/reader_pprof.h"
#include "report/reader_spans.h"

/* Texts are numbers for model_text; 0 is "". */
struct span {
	uint64_t id, parent; /* 0: none */
	struct trace_id trace;
	uint32_t name, method, path, service;
	/* Set by model_finish: `METHOD path` or the name; what it is grouped
	 * by (fold.h). */
	uint32_t request, operation;
	uint64_t start_ns, end_ns; /* since 1970; 0: not known */
	uint64_t cpu_ns;           /* exact, if cpu_known */
	uint64_t pid, tid;
	uint32_t http_status; /* 0: not known */
	enum span_end end;
	bool recorded; /* a span file has it, else only samples name it */
	bool cpu_known;
	bool failed;
	/* Sums over its samples. [unsampled] is CPU time without a sample. */
	uint64_t samples, sampled_ns, unsampled_ns;
	uint64_t period_ns;     /* of its profiles, 0: none */
	size_t first, profiled; /* its samples in model.samples */
};

struct sample {
	uint32_t stack; /* for model_stack */
	uint32_t span;  /* place in model.spans; 0: no span */
	uint64_t count, cpu_ns;
};

/* A key=value comment of the profiles, added up over all of them. */
struct statistic {
	uint32_t key; /* text */
	uint64_t value;
};

struct model {
	struct intern *texts, *stacks;
	struct span *spans; /* spans[0] stands for "no span" */
	size_t span_count, span_capacity;
	struct idmap span_places;
	struct sample *samples; /* by span once finished */
	size_t sample_count, sample_capacity;
	struct statistic *statistics;
	size_t statistic_count, statistic_capacity;
	/* Totals. truncated_ns is the CPU time of cut stacks. */
	uint64_t count, cpu_ns, unsampled_ns, truncated_ns;
	uint64_t period_ns;        /* the longest; 0 without profiles */
	uint64_t begin_ns, end_ns; /* of all windows, since 1970 */
	size_t profiles;
};

struct model *model_create(void);
void model_destroy(struct model *model);

/* The text of a number; stays until model_destroy. */
const char *model_text(const struct model *model, uint32_t text);
uint32_t model_put_text(struct model *model, const char *text);

/* The texts of a stack, leaf first; stays until model_destroy. */
const uint32_t *model_stack(const struct model *model, uint32_t stack,
			    size_t *frame_count);

/* Takes over what a file holds; the file may go afterwards. */
void model_merge_profile(struct model *model, const struct profile *profile);
void model_merge_spans(struct model *model, const struct span_file *file);

/* To be called once, after the last merge. */
void model_finish(struct model *model);

/* The best that is known: exact CPU time, else that of its samples. */
uint64_t span_cpu_ns(const struct span *span);

/* False when start or end isn't known. */
bool span_duration_ns(const struct span *span, uint64_t *duration_ns);

#endif
