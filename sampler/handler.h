/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal that samples.
 */
#ifndef SAMPLER_HANDLER_H
#define SAMPLER_HANDLER_H

/* Picks a real-time signal that the program leaves at its default, installs
 * the handler and notes the number in `agent`. Returns 0 or -EBUSY when every
 * one is taken. Called by the constructor. */
int handler_install(void);

/* Blocks the signal on the calling thread, or undoes that. Returns whether it
 * was blocked before. */
int handler_block_sig(int block);

#endif
