/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds copied stacks with libunwind's remote accessors.
 * Runs on: the exporter's main thread.
 *
 * What is relied upon in libunwind 1.6.2 beyond its manual:
 * - an error of find_proc_info other than UNW_ENOINFO ends unw_step with it;
 *   UNW_ENOINFO would make it guess by the frame pointer
 *   (src/x86_64/Gstep.c);
 * - it executes whatever the files say without checking it, so that nothing
 *   reaches it but what exporter/cfi.c has vetted;
 * - its cache of unwind rules is keyed by the pc alone, although the rules for
 *   an instruction that is about to run and for the same address as a return
 *   address differ where a row begins there. EXACT below keeps them apart.
 */
#include "exporter/complete.h"

#include <errno.h>
#include <libunwind-x86_64.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/eh_frame.h"

/* Added to a pc that is not a return address; no user address has it. */
#define EXACT (UINT64_C(1) << 62)
/* Words and instructions that may be read in one walk. A frame with rules that
 * are not cached takes a few hundred. */
#define READS_MAX 2000000u
/* A signal frame may lead to another stack, and so anywhere: more of them than
 * anybody nests end the walk. */
#define SIGNAL_FRAMES_MAX 16u
/* psABI 3.2.2: what functions may use below the stack pointer. */
#define RED_ZONE_BYTES 128u
/* Of code at an entry point that has no unwind information; ld.so's has 61. */
#define ENTRY_MAX_BYTES 256u
/* Where libunwind finds the table of find_rules. Non-canonical, and no
 * .eh_frame lies there (elf_file_maps ties the load bias to the place of the
 * code). */
#define TABLE_ADDRESS (UINT64_C(1) << 63)

/* Exported by libunwind-x86_64.so, declared in no header of it. */
/* NOLINTNEXTLINE(readability-function-size) */
int search_unwind_table(
	unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info,
	unw_proc_info_t *proc, int need_unwind_info,
	void *arg) __asm__("_Ux86_64_dwarf_search_unwind_table");

struct completer {
	struct address_map *map;
	unw_addr_space_t space;
	uint32_t generation;
	/* The walk under way. */
	const struct record_sample *sample;
	const struct module *module;
	const struct elf_file *file;
	bool is_reading_rules;
	enum complete_result failure;
	uint32_t reads;
};

/* One step's state. */
struct walk {
	unw_cursor_t cursor;
	uint64_t pc;
	uint64_t sp;
	bool is_exact; /* pc isn't a return address */
	uint32_t signal_frames;
};

static int fail(struct completer *c, enum complete_result why)
{
	c->failure = why;
	return -UNW_EBADFRAME;
}

/* Bytes of the thread's stack that aren't here are missing if the sampler says
 * it left some out, or if they are the red zone; else nothing good would have
 * asked for them. */
static int read_stack(struct completer *c, uint64_t address, unw_word_t *word)
{
	const struct record_sample *s = c->sample;
	uint64_t offset = address - s->stack_address;

	if (offset < s->stack_bytes && s->stack_bytes - offset >= 8) {
		memcpy(word, s->stack + offset, sizeof(*word));
		return 0;
	}
	if (s->stack_address - address <= RED_ZONE_BYTES ||
	    s->flags & (SAMPLE_STACK_CUT | SAMPLE_STACK_UNKNOWN))
		return fail(c, TRUNCATED_STACK_CUT);
	return fail(c, TRUNCATED_BAD);
}

/* A table with one entry that begins below everything, whose FDE lies at its
 * base: see find_rules. */
static unw_word_t table_word(void)
{
	struct eh_frame_entry entry = {INT32_MIN, 0};
	unw_word_t word;

	memcpy(&word, &entry, sizeof(word));
	return word;
}

static bool read_rules(const struct completer *c, uint64_t address,
		       unw_word_t *word)
{
	return c->file &&
	       eh_frame_read(&c->file->frames, address - c->module->load_bias,
			     word, sizeof(*word));
}

/* libunwind says how many parameters its accessors have. */
/* NOLINTBEGIN(readability-function-size) */

/* While rules are read, what lies outside of .eh_frame is only the pointers of
 * exception handling, which may be indirect; their values aren't used. Later
 * on, instructions and expressions are read from .eh_frame again, and never
 * from a stack that claims to lie at the same place: it wasn't vetted. */
static int access_mem(unw_addr_space_t space, unw_word_t address,
		      unw_word_t *word, int is_write, void *arg)
{
	struct completer *c = arg;

	(void)space;
	if (is_write)
		return 0;
	if (++c->reads > READS_MAX)
		return fail(c, TRUNCATED_BAD);
	if (c->is_reading_rules) {
		*word = address == TABLE_ADDRESS ? table_word() : 0;
		if (address != TABLE_ADDRESS)
			read_rules(c, address, word);
		return 0;
	}
	if (read_rules(c, address, word))
		return 0;
	return read_stack(c, address, word);
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number,
		      unw_word_t *word, int is_write, void *arg)
{
	const struct completer *c = arg;

	(void)space;
	if (number < 0 || (uint32_t)number >= SAMPLE_REGISTERS)
		return -UNW_EBADREG;
	/* libunwind numbers them as DWARF does. */
	if (!is_write)
		*word = c->sample->registers[number];
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number,
			unw_fpreg_t *value, int is_write, void *arg)
{
	(void)space, (void)number, (void)value, (void)is_write, (void)arg;
	return -UNW_EBADREG;
}

static int no_dynamic_code(unw_addr_space_t space, unw_word_t *list, void *arg)
{
	(void)space, (void)list, (void)arg;
	return -UNW_ENOINFO;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
	(void)space, (void)cursor, (void)arg;
	return -UNW_EINVAL;
}

/* libunwind frees what it handed out itself. */
static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *proc,
			    void *arg)
{
	(void)space, (void)proc, (void)arg;
}

static int find_fde(const struct completer *c, uint64_t pc,
		    struct eh_frame_fde *fde)
{
	if (!c->file)
		return -ENOENT;
	return eh_frame_find(&c->file->frames, pc - c->module->load_bias, fde);
}

/* The FDE is found and vetted here; libunwind gets a table in which there is
 * no other. */
static int find_rules(unw_addr_space_t space, unw_word_t ip,
		      unw_proc_info_t *proc, int need_unwind_info, void *arg)
{
	struct completer *c = arg;
	uint64_t exact = ip & EXACT, pc = ip - exact;
	unw_dyn_info_t info = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
	struct eh_frame_fde fde;
	int error;

	if (find_fde(c, pc, &fde))
		return fail(c, TRUNCATED_NO_CFI);
	c->reads += fde.vetted_bytes;
	info.start_ip = c->module->load_bias + fde.start;
	info.end_ip = c->module->load_bias + fde.end;
	info.u.rti.segbase = c->module->load_bias + fde.fde;
	info.u.rti.table_data = TABLE_ADDRESS;
	info.u.rti.table_len = 1;
	c->is_reading_rules = true;
	error = search_unwind_table(space, pc, &info, proc, need_unwind_info,
				    arg);
	c->is_reading_rules = false;
	if (error || proc->start_ip != info.start_ip ||
	    proc->end_ip != info.end_ip)
		return fail(c, TRUNCATED_NO_CFI);
	proc->start_ip += exact;
	proc->end_ip += exact;
	return 0;
}

/* NOLINTEND(readability-function-size) */

static enum complete_result push(struct completer *c, struct stack *stack,
				 const struct walk *w)
{
	uint64_t lookup = w->is_exact ? w->pc : w->pc - 1;

	if (stack->count == COMPLETE_FRAMES_MAX)
		return TRUNCATED_DEPTH;
	c->module = address_map_find(c->map, lookup);
	c->file = c->module ? address_map_file(c->map, c->module) : NULL;
	stack->frames[stack->count++] = (struct stack_frame){
		w->pc, lookup, c->module,
		c->module ? lookup - c->module->load_bias : 0};
	return c->module ? COMPLETE : UNKNOWN_MODULE;
}

/* The trampoline that a signal handler returns to is not what called it: the
 * return address is where its code, and its name, begins. */
static void mark_signal_frame(struct stack_frame *frame)
{
	if (frame->lookup == frame->address)
		return;
	frame->lookup++;
	frame->vaddr++;
}

/* The end is said by the unwind information of the outermost function. Where
 * libunwind stops for another reason (it also does so when a function declares
 * rbp undefined), something is amiss. */
static enum complete_result end_of_walk(struct completer *c,
					const struct stack_frame *last)
{
	struct eh_frame_fde fde;

	if (find_fde(c, last->lookup, &fde) == 0 && fde.ends_stack)
		return COMPLETE;
	return TRUNCATED_BAD;
}

/* Nothing calls the code at a file's entry point. In glibc's ld.so (2.36) it
 * has no unwind information, and all constructors of libraries run below it. */
static bool is_entry_code(const struct completer *c,
			  const struct stack_frame *last)
{
	struct eh_frame_fde below = {.end = 0};
	uint64_t entry;

	if (!c->file)
		return false;
	entry = c->file->image.entry;
	return entry && last->vaddr >= entry &&
	       last->vaddr - entry < ENTRY_MAX_BYTES &&
	       find_fde(c, last->lookup, &below) == -ENOENT &&
	       below.end <= entry;
}

static enum complete_result why_failed(const struct completer *c,
				       const struct stack_frame *last)
{
	if (c->failure == TRUNCATED_NO_CFI && is_entry_code(c, last))
		return COMPLETE;
	return c->failure;
}

/* To the caller's frame: 1, 0 at the end, negative when it can't be found. */
static int step(struct completer *c, struct walk *w, struct stack_frame *frame)
{
	bool is_leaf = w->is_exact && w->signal_frames == 0;
	uint64_t old_sp = w->sp;
	int moved;

	c->failure = TRUNCATED_BAD;
	if (w->is_exact)
		unw_set_reg(&w->cursor, UNW_REG_IP, w->pc | EXACT);
	moved = unw_step(&w->cursor);
	if (moved <= 0)
		return moved;
	w->is_exact = unw_is_signal_frame(&w->cursor) > 0;
	if (unw_get_reg(&w->cursor, UNW_REG_IP, &w->pc) ||
	    unw_get_reg(&w->cursor, UNW_REG_SP, &w->sp))
		return -1;
	if (w->is_exact) {
		mark_signal_frame(frame);
		return ++w->signal_frames <= SIGNAL_FRAMES_MAX ? 1 : -1;
	}
	/* A leaf may have its return address in a register. */
	return w->sp > old_sp || (is_leaf && w->sp == old_sp) ? 1 : -1;
}

static bool is_own(const struct stack_frame *frame)
{
	return frame->module && frame->module->is_agent;
}

static enum complete_result walk(struct completer *c, struct stack *stack)
{
	struct walk w = {.is_exact = true};
	struct stack_frame *frame;

	if (unw_init_remote(&w.cursor, c->space, c))
		return TRUNCATED_BAD;
	unw_get_reg(&w.cursor, UNW_REG_IP, &w.pc);
	unw_get_reg(&w.cursor, UNW_REG_SP, &w.sp);
	for (;;) {
		enum complete_result pushed = push(c, stack, &w);
		int moved;

		if (pushed != COMPLETE)
			return pushed;
		frame = &stack->frames[stack->count - 1];
		moved = step(c, &w, frame);
		if (moved < 0)
			return why_failed(c, frame);
		if (moved == 0)
			return end_of_walk(c, frame);
		/* Who starts threads without unwind information, as runtimes
		 * do, puts a zero where the return address would be. */
		if (w.pc == 0)
			return COMPLETE;
		if (is_own(frame))
			stack->count--;
	}
}

static unw_accessors_t accessors = {
	.find_proc_info = find_rules,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = no_dynamic_code,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = no_resume,
};

struct completer *completer_create(struct address_map *map)
{
	struct completer *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->map = map;
	c->space = unw_create_addr_space(&accessors, 0);
	if (!c->space) {
		free(c);
		return NULL;
	}
	unw_set_caching_policy(c->space, UNW_CACHE_GLOBAL);
	return c;
}

void completer_destroy(struct completer *completer)
{
	if (!completer)
		return;
	unw_destroy_addr_space(completer->space);
	free(completer);
}

enum complete_result completer_walk(struct completer *completer,
				    const struct record_sample *sample,
				    struct stack *stack)
{
	uint32_t generation = address_map_generation(completer->map);
	enum complete_result result;

	if (generation != completer->generation)
		unw_flush_cache(completer->space, 0, 0);
	completer->generation = generation;
	completer->sample = sample;
	completer->reads = 0;
	stack->count = 0;
	result = walk(completer, stack);
	if (stack->count && is_own(&stack->frames[stack->count - 1]))
		stack->count--;
	return result;
}
