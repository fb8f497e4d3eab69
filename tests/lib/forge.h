/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes into the test's ring what no honest producer would, and what one
 * would, byte for byte.
 */
#ifndef TESTS_LIB_FORGE_H
#define TESTS_LIB_FORGE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/layout.h"

/* The largest record of any kind. */
union forged {
	struct record head;
	struct record_sample sample;
	struct record_unsampled unsampled;
	struct record_span_begin begin;
	struct record_span_end end;
	struct record_module module;
	struct record_modules modules;
	uint8_t bytes[8192];
};

/* A valid record of a kind at a time, of process slot 0 and generation 1: a
 * sample without a stack, a module with a path. */
union forged *forge(enum record_kind kind, uint64_t time_ns);

/* Appends bytes to a block of agent.ring, and makes them seen. */
void forge_append(unsigned block, const void *bytes, size_t length);

/* Appends a record with its own size. */
void forge_put(unsigned block, const union forged *record);

#endif
