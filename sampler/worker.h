/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler thread: finds threads that pthread_create did not make, tells the
 * exporter which modules are mapped, and closes the ledger's windows.
 *
 * It is a task that libc does not know (raw clone, own descriptor table, no
 * %fs): an idle pthread would cost a single-threaded program 2 % at every
 * system call. It is started by the constructor in the first process of a tree,
 * elsewhere by the first sample, and must be gone before any call that acts on
 * all threads of a process or wants a single one.
 */
#ifndef SAMPLER_WORKER_H
#define SAMPLER_WORKER_H

/* Starts it unless it runs, is held, or can't be made. Never waits. */
void worker_wanted_sig(void);

/* Makes sure that it is gone, also for the kernel, and keeps it from coming
 * back until the matching worker_release_app. Waits some 20 us. */
void worker_hold_app(void);
void worker_release_app(void);

#endif
