/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts the function symbols of an ELF file and looks addresses up in them.
 * Runs on: the exporter's main thread.
 */
#include "exporter/symbols.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/plt.h"

#define NO_PARENT UINT32_MAX
/* Symbols within symbols; more only occur in files that were made for it. */
#define NESTED_MAX 64u

/* Sorted by start. `start` is relative to `base`. */
struct function {
	uint32_t start;
	uint32_t len; /* 0 when the file doesn't tell */
	uint32_t name;
	uint32_t parent; /* the next one below that reaches beyond `start` */
};

struct symbols {
	uint64_t base;
	struct function *functions;
	uint32_t count;
	char *names;
	size_t names_bytes;
};

/* While a file is being read. */
struct candidate {
	uint64_t start;
	uint32_t len;
	uint32_t name_bytes; /* without version and NUL */
	const char *name;
	uint32_t order; /* in the file */
	uint8_t rank;   /* of its binding, lower is better */
	uint8_t underscores;
};

struct candidates {
	const struct elf_image *mapped;
	const struct elf_image *image; /* the one at hand */
	struct candidate *at;
	uint32_t count;
	uint32_t capacity;
	size_t names_left; /* bytes; a million symbols may share a long name */
};

static uint8_t binding_rank(unsigned char info)
{
	switch (GELF_ST_BIND(info)) {
	case STB_WEAK:
		return 1;
	case STB_LOCAL:
		return 2;
	default:
		return 0;
	}
}

static bool is_function(const struct candidates *c, const GElf_Sym *symbol)
{
	const struct elf_segment *segment;
	unsigned char type = GELF_ST_TYPE(symbol->st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
	    symbol->st_shndx == SHN_UNDEF || symbol->st_size > UINT32_MAX)
		return false;
	segment = elf_image_segment(c->mapped, symbol->st_value);
	return segment && segment->executable;
}

/* Length of a name up to its version; 0 when it doesn't end where it should. */
static uint32_t name_bytes(const Elf_Data *strings, size_t offset)
{
	const char *name = (const char *)strings->d_buf + offset;
	const char *version;
	size_t limit, len;

	if (offset >= strings->d_size)
		return 0;
	limit = strings->d_size - offset;
	len = strnlen(name, limit < SYMBOLS_NAME_MAX_BYTES
				    ? limit
				    : SYMBOLS_NAME_MAX_BYTES);
	if (len == limit || len == SYMBOLS_NAME_MAX_BYTES)
		return 0;
	version = memchr(name, '@', len);
	return (uint32_t)(version && version > name ? version - name
						    : (ptrdiff_t)len);
}

static bool reserve(struct candidates *c, uint64_t more)
{
	struct candidate *at;
	uint64_t capacity = c->count + more;

	if (capacity > SYMBOLS_MAX)
		capacity = SYMBOLS_MAX;
	at = realloc(c->at, capacity * sizeof(*at));
	if (!at)
		return false;
	c->at = at;
	c->capacity = (uint32_t)capacity;
	return true;
}

static uint8_t leading_underscores(const char *name)
{
	uint8_t n = 0;

	while (n < UINT8_MAX && name[n] == '_')
		n++;
	return n;
}

static void add(struct candidates *c, const GElf_Sym *symbol,
		const Elf_Data *strings)
{
	struct candidate *next = &c->at[c->count];
	uint32_t len = name_bytes(strings, symbol->st_name);

	if (len == 0 || len > c->names_left)
		return;
	c->names_left -= len;
	next->start = symbol->st_value;
	next->len = (uint32_t)symbol->st_size;
	next->name_bytes = len;
	next->name = (const char *)strings->d_buf + symbol->st_name;
	next->order = c->count++;
	next->rank = binding_rank(symbol->st_info);
	next->underscores = leading_underscores(next->name);
}

static void collect(struct candidates *c, Elf_Data *data,
		    const Elf_Data *strings)
{
	size_t count = data->d_size / sizeof(Elf64_Sym);

	for (size_t i = 1; i < count && c->count < c->capacity; i++) {
		GElf_Sym symbol;

		if (gelf_getsym(data, (int)i, &symbol) &&
		    is_function(c, &symbol))
			add(c, &symbol, strings);
	}
}

/* libelf would read any section that says it is so long. */
static Elf_Data *section_data(const struct candidates *c, Elf_Scn *section,
			      unsigned int type)
{
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) ||
	    header.sh_type != type ||
	    header.sh_size > SYMBOLS_TABLE_MAX_BYTES ||
	    header.sh_size > c->image->len_bytes ||
	    header.sh_offset > c->image->len_bytes - header.sh_size)
		return NULL;
	return elf_getdata(section, NULL);
}

static void collect_section(struct candidates *c, Elf *elf, unsigned int type)
{
	Elf_Scn *section = NULL;
	Elf_Data *data, *strings;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			break;
	data = section_data(c, section, type);
	if (!data || !data->d_buf)
		return;
	strings = section_data(c, elf_getscn(elf, header.sh_link), SHT_STRTAB);
	if (strings && strings->d_buf &&
	    reserve(c, data->d_size / sizeof(Elf64_Sym)))
		collect(c, data, strings);
}

/* Below 0 when the name of `a` is the better one. */
static int compare_names(const struct candidate *a, const struct candidate *b)
{
	if (a->rank != b->rank)
		return a->rank - b->rank;
	if (a->underscores != b->underscores)
		return a->underscores - b->underscores;
	if (a->name_bytes != b->name_bytes)
		return a->name_bytes < b->name_bytes ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* By start, the longer first, so that the innermost is the last one that
 * begins at or below an address; those without a length are the longest. */
static int compare(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->len != b->len)
		return a->len - 1 > b->len - 1 ? -1 : 1;
	return compare_names(a, b);
}

/* Keeps the best name of each range, and no unsized symbol where a sized one
 * begins as well. */
static void drop_duplicates(struct candidates *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		struct candidate *last = kept ? &c->at[kept - 1] : NULL;

		if (last && last->start == c->at[i].start && last->len == 0 &&
		    c->at[i].len != 0)
			*last = c->at[i];
		else if (!last || last->start != c->at[i].start ||
			 last->len != c->at[i].len)
			c->at[kept++] = c->at[i];
	}
	c->count = kept;
}

static uint64_t end_of(const struct function *f)
{
	return (uint64_t)f->start + f->len;
}

static uint32_t parent_of(const struct symbols *s, uint32_t index)
{
	uint32_t at = index ? index - 1 : NO_PARENT;

	for (unsigned int i = 0; i < NESTED_MAX && at != NO_PARENT; i++) {
		if (end_of(&s->functions[at]) > s->functions[index].start)
			return at;
		at = s->functions[at].parent;
	}
	return NO_PARENT;
}

static void take(struct symbols *s, const struct candidate *c)
{
	struct function *f = &s->functions[s->count];

	if (c->start - s->base > UINT32_MAX)
		return;
	*f = (struct function){(uint32_t)(c->start - s->base), c->len,
			       (uint32_t)s->names_bytes, NO_PARENT};
	memcpy(s->names + s->names_bytes, c->name, c->name_bytes);
	s->names_bytes += c->name_bytes;
	s->names[s->names_bytes++] = '\0';
	f->parent = parent_of(s, s->count);
	s->count++;
}

static size_t names_needed(const struct candidates *c)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < c->count; i++)
		bytes += c->at[i].name_bytes + 1;
	return bytes < SYMBOLS_NAMES_MAX_BYTES ? bytes
					       : SYMBOLS_NAMES_MAX_BYTES;
}

static struct symbols *build(struct candidates *c)
{
	struct symbols *s = calloc(1, sizeof(*s));
	size_t names_bytes;

	if (!s)
		return NULL;
	qsort(c->at, c->count, sizeof(*c->at), compare);
	drop_duplicates(c);
	names_bytes = names_needed(c);
	s->base = c->at[0].start;
	s->functions = malloc(c->count * sizeof(*s->functions));
	s->names = malloc(names_bytes);
	if (!s->functions || !s->names) {
		symbols_destroy(s);
		return NULL;
	}
	for (uint32_t i = 0; i < c->count; i++)
		if (c->at[i].name_bytes < names_bytes - s->names_bytes)
			take(s, &c->at[i]);
	return s;
}

static Elf *open_elf(const struct elf_image *image)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	if (!image->bytes)
		return elf_begin(image->fd, ELF_C_READ, NULL);
	/* Not const in libelf's interface; it doesn't write to what it reads
	 * in the machine's own byte order. */
	return elf_memory((char *)(uintptr_t)image->bytes, image->len_bytes);
}

static void collect_image(struct candidates *c, const struct elf_image *image,
			  Elf **elf)
{
	*elf = image->has_sections ? open_elf(image) : NULL;
	if (!*elf)
		return;
	c->image = image;
	collect_section(c, *elf, SHT_SYMTAB);
	collect_section(c, *elf, SHT_DYNSYM);
}

static void collect_stubs(struct candidates *c, const struct plt *plt)
{
	if (!plt->count || !reserve(c, plt->count))
		return;
	for (uint32_t i = 0; i < plt->count && c->count < c->capacity; i++) {
		const struct plt_stub *stub = &plt->stubs[i];
		const char *name = plt->names + stub->name;

		c->at[c->count] = (struct candidate){
			.start = stub->start,
			.len = stub->len_bytes,
			.name_bytes = (uint32_t)strlen(name),
			.name = name,
			.order = c->count,
		};
		c->count++;
	}
}

struct symbols *symbols_load(const struct elf_image *const *images)
{
	struct candidates c = {.mapped = images[0],
			       .names_left = SYMBOLS_TABLE_MAX_BYTES};
	Elf *elfs[SYMBOLS_IMAGES_MAX] = {NULL};
	struct symbols *symbols = NULL;
	struct plt plt;

	for (uint32_t i = 0; i < SYMBOLS_IMAGES_MAX && images[i]; i++)
		collect_image(&c, images[i], &elfs[i]);
	plt_read(&plt, images[0]);
	collect_stubs(&c, &plt);
	if (c.count)
		symbols = build(&c);
	free(c.at);
	plt_free(&plt);
	for (uint32_t i = 0; i < SYMBOLS_IMAGES_MAX; i++)
		elf_end(elfs[i]);
	return symbols;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->functions);
	free(symbols->names);
	free(symbols);
}

size_t symbols_bytes(const struct symbols *symbols)
{
	if (!symbols)
		return 0;
	return sizeof(*symbols) + symbols->names_bytes +
	       symbols->count * sizeof(*symbols->functions);
}

/* Index of the last function that begins at or below, NO_PARENT for none. */
static uint32_t last_below(const struct symbols *s, uint64_t vaddr)
{
	uint32_t low = 0, high = s->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (vaddr < s->base + s->functions[middle].start)
			high = middle;
		else
			low = middle + 1;
	}
	return low ? low - 1 : NO_PARENT;
}

const char *symbols_find(const struct symbols *symbols, uint64_t vaddr)
{
	uint32_t at = last_below(symbols, vaddr);

	for (unsigned int i = 0; i < NESTED_MAX && at != NO_PARENT; i++) {
		const struct function *f = &symbols->functions[at];

		if (vaddr - symbols->base < end_of(f))
			return symbols->names + f->name;
		at = f->parent;
	}
	return NULL;
}

const char *symbols_find_unsized(const struct symbols *symbols, uint64_t vaddr,
				 uint64_t start)
{
	uint32_t at = last_below(symbols, vaddr);
	const struct function *f;

	if (at == NO_PARENT)
		return NULL;
	f = &symbols->functions[at];
	if (f->len != 0 || symbols->base + f->start != start)
		return NULL;
	return symbols->names + f->name;
}
