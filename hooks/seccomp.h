/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a seccomp filter says to the system calls that sampling makes.
 *
 * Formats: seccomp(2), linux/filter.h (classic BPF), and the kernel's
 * kernel/seccomp.c for the subset that seccomp takes.
 */
#ifndef HOOKS_SECCOMP_H
#define HOOKS_SECCOMP_H

#include <stdbool.h>
#include <stdint.h>

struct seccomp_data;
struct sock_filter;

/*
 * Whether the handler, the timers and the clocks go on working under a filter
 * that the program is about to install: a struct sock_fprog. True for one that
 * the kernel will refuse, since it can't be read.
 */
bool seccomp_lets_us_sample_app(const void *filter);

/* Runs a filter: the SECCOMP_RET_* value that it returns. What the kernel would
 * refuse to take, or takes but is not known here, kills. */
uint32_t seccomp_run_app(const struct sock_filter *code, uint32_t count,
			 const struct seccomp_data *data);

#endif
