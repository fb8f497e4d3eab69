/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions, inlined calls and source lines of one compile unit, in one
 * block of memory without pointers.
 *
 * The process that reads DWARF makes it (dwarf_index.c) and hands it over; it
 * reads files that anybody may have written, so that whoever takes a block
 * over checks it first, with line_index_check. Numbers are the machine's own.
 */
#ifndef EXPORTER_LINE_INDEX_H
#define EXPORTER_LINE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_INDEX_MAGIC UINT32_C(0x5e1f11e5)
#define LINE_INDEX_BYTES_MAX (64u << 20)
#define LINE_INDEX_NONE UINT32_MAX

/*
 * The head. Behind it come, each as often as it says: ranges by start, the
 * longer first; scopes, outer ones before inner ones; rows by start; bytes of
 * texts, each ended by NUL, of which the first is "".
 */
struct line_index {
	uint32_t magic;
	uint32_t range_count;
	uint32_t scope_count;
	uint32_t row_count;
	uint64_t base; /* ELF vaddr that starts count from */
	uint32_t text_bytes;
	uint32_t reserved;
};

/* Code of a scope. */
struct line_range {
	uint32_t start;
	uint32_t len_bytes;
	uint32_t scope;
	uint32_t below; /* the next range before it that reaches beyond start */
};

/* A function, or a call of one that was inlined. Texts are offsets. */
struct line_scope {
	uint32_t parent; /* the scope it was inlined into; NONE: a function */
	uint32_t name;   /* as the linker knows it, if it does; 0: unknown */
	uint32_t call_file;
	uint32_t call_line; /* 0: unknown */
	uint32_t declared_file;
	uint32_t declared_line; /* 0: unknown */
};

/* The code from here to the next row. */
struct line_row {
	uint32_t start;
	uint32_t file; /* text; 0: no line is known */
	uint32_t line; /* 0: it comes from no line */
};

/* One level of an address. Strings live as long as the index. */
struct line_frame {
	const char *name; /* "": unknown */
	const char *file; /* "": unknown */
	uint32_t line;    /* 0: unknown */
	/* Where the function begins; 0 unless that is in `file`, too. */
	uint32_t start_line;
};

/* Whether `bytes` are a whole index in which nothing leads astray. */
bool line_index_check(const void *bytes, size_t len_bytes);

/*
 * The innermost inlined function first, the one that was really called last.
 * Returns how many there are, at most `capacity`, of which the outermost always
 * is one. 0 when nothing is known of the address. Where only a line is known,
 * it is one frame without a name.
 */
uint32_t line_index_find(const struct line_index *index, uint64_t vaddr,
			 struct line_frame *frames, uint32_t capacity);

#endif
