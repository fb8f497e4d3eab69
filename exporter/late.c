/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps samples for later.
 * Runs on: the exporter's main thread.
 */
#include "exporter/late.h"

#include <stdlib.h>
#include <string.h>

struct late_sample {
	struct late_sample *next;
	struct record_sample sample; /* and its stack */
};

void late_init(struct late *late)
{
	late->first = NULL;
	late->end = &late->first;
	late->bytes = 0;
}

static bool take_all(void *context, const struct record_sample *sample)
{
	(void)context;
	(void)sample;
	return true;
}

void late_fini(struct late *late)
{
	late_retry(late, take_all, NULL);
}

bool late_keep(struct late *late, const struct record_sample *sample)
{
	size_t bytes = sample->head.bytes;
	struct late_sample *kept;

	if (late->bytes + bytes > LATE_BYTES_MAX)
		return false;
	kept = malloc(offsetof(struct late_sample, sample) + bytes);
	if (!kept)
		return false;
	kept->next = NULL;
	memcpy(&kept->sample, sample, bytes);
	*late->end = kept;
	late->end = &kept->next;
	late->bytes += bytes;
	return true;
}

void late_retry(struct late *late,
		bool (*take)(void *context, const struct record_sample *sample),
		void *context)
{
	struct late_sample **link = &late->first;

	while (*link) {
		struct late_sample *kept = *link;

		if (!take(context, &kept->sample)) {
			link = &kept->next;
			continue;
		}
		*link = kept->next;
		late->bytes -= kept->sample.head.bytes;
		free(kept);
	}
	late->end = link;
}
