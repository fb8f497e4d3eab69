/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends that run no destructor (_exit and _Exit, glibc 2.2.5 and later;
 * quick_exit 2.10): what is not booked yet is booked before them.
 * Runs on: the program's threads.
 */
#include <stdlib.h>
#include <unistd.h>

#include "hooks/hook.h"
#include "preload/lifecycle.h"
#include "preload/process.h"

HOOK(_exit);
HOOK(_Exit);
HOOK(quick_exit);

static void book(void)
{
	if (agent.active)
		process_end_app();
}

EXPORT void _exit(int status)
{
	book();
	REAL(_exit)(status);
	__builtin_unreachable();
}

EXPORT void _Exit(int status)
{
	book();
	REAL(_Exit)(status);
	__builtin_unreachable();
}

EXPORT void quick_exit(int status)
{
	book();
	REAL(quick_exit)(status);
	__builtin_unreachable();
}
