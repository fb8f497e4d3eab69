/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints messages of the command itself.
 * Runs on: any thread of the spanprof command.
 */
#include "report/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/text.h"

void message(const char *format, ...)
{
	va_list arguments;
	char text[8192], *clean;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	clean = text_clean(text);
	fprintf(stderr, "spanprof: %s\n", clean);
	free(clean);
}
