/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library that the agent calls but does not link to: their
 * symbol versions moved with glibc 2.34, and the library is to load on 2.17.
 */
#ifndef PRELOAD_REAL_H
#define PRELOAD_REAL_H

#include <pthread.h>
#include <stdint.h>

/* Looks them up. Returns 0, or -ENOSYS when one is missing. Called by the
 * constructor, before anything else here. */
int real_resolve(void);

int real_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int real_pthread_setspecific(pthread_key_t key, const void *value);

/* The stack size that a thread made with these attributes (NULL: default ones)
 * has at least; 0 when unknown. */
uint64_t real_stack_size(const pthread_attr_t *attributes);

/* pthread_atfork, for this library. */
int real_register_atfork(void (*prepare)(void), void (*parent)(void),
			 void (*child)(void));

/* The next definition of a symbol behind this library, or NULL. */
void *real_next(const char *name);

/* The path under which this library was loaded, or NULL. */
const char *real_own_path(void);

/* The end of the main thread's stack as far as a walk may read: just above the
 * frame of _start, below arguments and environment. 0 when unknown. */
uint64_t real_stack_end(void);

#endif
