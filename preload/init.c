/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constructor and the destructor of the preloaded library.
 * Runs on: the program's main thread, before main and at exit.
 *
 * Whatever fails here, the program goes on as if we were not there.
 */
#include <elf.h>
#include <sys/auxv.h>

#include "hooks/connection.h"
#include "hooks/hook.h"
#include "preload/attach.h"
#include "preload/lifecycle.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/rendezvous.h"
#include "preload/span.h"
#include "preload/thread.h"
#include "sampler/arch.h"
#include "sampler/handler.h"
#include "sampler/timer.h"
#include "sampler/worker.h"

static int map_memory(void)
{
	int error = process_map();

	if (!error)
		error = span_table_map();
	if (!error)
		error = thread_pool_map();
	if (!error)
		error = connection_table_map();
	return error;
}

/* A set-user-id program does not take orders from its environment; our own
 * exporter is not profiled. */
static bool stands_aside(char *const *environment)
{
	return getauxval(AT_SECURE) != 0 ||
	       config_lookup(environment, RENDEZVOUS_EXPORTER_MARK);
}

static void begin(char *const *environment)
{
	bool first = false;

	config_read(&agent.config, environment, 0, 0);
	if (agent.config.disabled || real_resolve() != 0 || map_memory() != 0)
		return;
	agent.period_ns = UINT64_C(1000000000) / agent.config.rate_hz;
	timer_measure_tick();
	agent.ring = attach(environment, &first);
	if (!agent.ring || handler_install() != 0 || lifecycle_install() != 0)
		return;
	if (process_begin_main_app() != 0)
		return;
	/* valgrind does not know our kind of thread and would end the
	 * program. */
	process->worker_refused = arch_runs_on_valgrind();
	agent.active = true;
	if (first)
		worker_wanted_sig();
}

__attribute__((constructor)) static void construct(int argc, char **argv,
						   char **environment)
{
	(void)argc;
	(void)argv;
	hook_resolve_all();
	if (!stands_aside(environment))
		begin(environment);
}

__attribute__((destructor)) static void destruct(void)
{
	if (agent.active)
		process_end_app();
}
