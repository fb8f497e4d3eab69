/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether memory can be read, asked of the kernel: rt_sigprocmask(2) with an
 * unknown `how` copies the set first and then refuses, and changes nothing.
 * Some 0.1 us; no signal, no errno.
 */
#ifndef SAMPLER_PROBE_H
#define SAMPLER_PROBE_H

#include <errno.h>
#include <stdbool.h>

#include "sampler/arch.h"

/* The 8 bytes at an address. */
static inline bool probe_readable_sig(uint64_t address)
{
	return SYS4(SYS_rt_sigprocmask, -1, (long)address, 0, 8) == -EINVAL;
}

#endif
