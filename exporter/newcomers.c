/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of newcomers.
 * Runs on: the exporter's joining thread and its main thread.
 */
#include "exporter/newcomers.h"

#include <stddef.h>

void newcomers_note(struct newcomers *newcomers, uint32_t pid)
{
	struct newcomer *place;
	struct proc_maps maps;

	if (proc_maps_read(&maps, pid) != 0)
		return;
	pthread_mutex_lock(&newcomers->newcomers_lock);
	place = &newcomers->row[newcomers->next++ % NEWCOMERS_MAX];
	proc_maps_free(&place->maps);
	*place = (struct newcomer){pid, maps};
	pthread_mutex_unlock(&newcomers->newcomers_lock);
}

struct proc_maps newcomers_take(struct newcomers *newcomers, uint32_t pid)
{
	struct proc_maps maps = {.text = NULL};

	pthread_mutex_lock(&newcomers->newcomers_lock);
	for (uint32_t i = 0; i < NEWCOMERS_MAX; i++) {
		struct newcomer *place = &newcomers->row[i];

		if (place->pid != pid)
			continue;
		/* An exec joins again: the later text is the right one. */
		proc_maps_free(&maps);
		maps = place->maps;
		*place = (struct newcomer){.pid = 0};
	}
	pthread_mutex_unlock(&newcomers->newcomers_lock);
	return maps;
}
