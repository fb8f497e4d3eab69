/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is there or ends the command.
 * Runs on: any thread of the spanprof command.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* vasprintf */
#endif
#include "report/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noreturn)) static void give_up(void)
{
	fputs("spanprof: out of memory; read fewer files at once\n", stderr);
	exit(EXIT_FAILURE);
}

void *mem_zeroed(size_t count, size_t item_bytes)
{
	void *memory = calloc(count ? count : 1, item_bytes);

	if (!memory)
		give_up();
	return memory;
}

char *mem_copy(const void *data, size_t bytes)
{
	char *copy = mem_zeroed(bytes + 1, 1);

	memcpy(copy, data, bytes);
	return copy;
}

void *mem_room(void *array, size_t *capacity, size_t wanted, size_t item_bytes)
{
	size_t grown = *capacity + *capacity / 2;
	void *moved;

	if (wanted <= *capacity)
		return array;
	if (grown < wanted)
		grown = wanted < 16 ? 16 : wanted;
	if (grown > SIZE_MAX / 2 / item_bytes)
		give_up();
	moved = realloc(array, grown * item_bytes);
	if (!moved)
		give_up();
	*capacity = grown;
	return moved;
}

char *mem_printf(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		give_up();
	return text;
}
