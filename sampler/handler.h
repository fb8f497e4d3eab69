/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal that samples.
 */
#ifndef SAMPLER_HANDLER_H
#define SAMPLER_HANDLER_H

#include <stdint.h>

/* Picks a real-time signal that the program leaves at its default, installs
 * the handler and notes the number in `agent`. Returns 0 or -EBUSY when every
 * one is taken. Called by the constructor. */
int handler_install(void);

/*
 * What the program believes to have set for the signal: it may set anything,
 * but ours stays in place, since a timer that fires at a default disposition
 * would end the program. A signal that is not from our timers gets what the
 * program set. `handler` is SIG_DFL, SIG_IGN or a function of either form.
 */
struct handler_action {
	void *handler;
	uint64_t flags; /* SA_SIGINFO and so on */
	uint64_t mask;  /* only kept for the program to see */
};
struct handler_action handler_program_action_sig(void);
void handler_set_program_action_sig(struct handler_action action);

/* Blocks the signal on the calling thread, or undoes that. Returns whether it
 * was blocked before. */
int handler_block_sig(int block);

#endif
