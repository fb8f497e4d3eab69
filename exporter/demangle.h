/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ and Rust functions as their authors wrote them. */
#ifndef EXPORTER_DEMANGLE_H
#define EXPORTER_DEMANGLE_H

/* Names that are longer stay as they are. */
#define DEMANGLE_INPUT_MAX_BYTES (16u << 10)
/* What people get to see, without the closing NUL. */
#define DEMANGLE_NAME_MAX_BYTES 512u

/*
 * Returns the name of a function to show: demangled by the Itanium C++ ABI or
 * by Rust's (v0 and before), C++ with its parameters, Rust without its hash;
 * as it is where it is neither, or makes no sense. Valid UTF-8 without control
 * characters; a longer one is cut and ends with "…". The caller frees it. NULL
 * when there is no memory.
 */
char *demangle(const char *name);

#endif
