/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds functions of the C library at run time.
 * Runs on: the program's threads; real_resolve in the constructor.
 */
#include "preload/real.h"

#include <dlfcn.h>
#include <errno.h>

/* They moved from libdl to libc with glibc 2.34; both answer to this
 * version. */
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");

static int (*key_create)(pthread_key_t *, void (*)(void *));
static int (*setspecific)(pthread_key_t, const void *);
static int (*attr_init)(pthread_attr_t *);
static int (*attr_getstacksize)(const pthread_attr_t *, size_t *);
static void *const *stack_end;

/* pthread_atfork lives in a static part of libc and calls this. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void),
			     void (*child)(void), void *dso_handle);
extern void *__dso_handle;

void *real_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int real_resolve(void)
{
	*(void **)&key_create = dlsym(RTLD_DEFAULT, "pthread_key_create");
	*(void **)&setspecific = dlsym(RTLD_DEFAULT, "pthread_setspecific");
	*(void **)&attr_init = dlsym(RTLD_DEFAULT, "pthread_attr_init");
	*(void **)&attr_getstacksize =
		dlsym(RTLD_DEFAULT, "pthread_attr_getstacksize");
	stack_end = dlsym(RTLD_DEFAULT, "__libc_stack_end");
	return key_create && setspecific ? 0 : -ENOSYS;
}

int real_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	return key_create(key, destructor);
}

int real_pthread_setspecific(pthread_key_t key, const void *value)
{
	return setspecific(key, value);
}

uint64_t real_stack_size(const pthread_attr_t *attributes)
{
	pthread_attr_t defaults;
	size_t bytes = 0;

	if (!attr_init || !attr_getstacksize)
		return 0;
	if (!attributes) {
		if (attr_init(&defaults) != 0)
			return 0;
		attributes = &defaults;
	}
	return attr_getstacksize(attributes, &bytes) == 0 ? bytes : 0;
}

int real_register_atfork(void (*prepare)(void), void (*parent)(void),
			 void (*child)(void))
{
	return -__register_atfork(prepare, parent, child, &__dso_handle);
}

const char *real_own_path(void)
{
	Dl_info here;

	return dladdr((const void *)real_own_path, &here) ? here.dli_fname : 0;
}

uint64_t real_stack_end(void)
{
	/* The word there is argc; _start's frame is one word and some. */
	return stack_end ? (uint64_t)(uintptr_t)*stack_end + 64 : 0;
}
