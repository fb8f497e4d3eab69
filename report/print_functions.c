/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints tables of functions.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/print.h"

#include "report/text.h"

const char *print_name(const struct model *model, uint32_t name)
{
	return name ? model_text(model, name) : "(no name)";
}

static void add_row(struct table *table, const struct print *print,
		    const struct function_sum *sum)
{
	char self[TEXT_NUMBER_BYTES], self_share[TEXT_NUMBER_BYTES];
	char total[TEXT_NUMBER_BYTES], total_share[TEXT_NUMBER_BYTES];
	const char *const cells[] = {self, self_share, total, total_share,
				     print_name(print->model, sum->name)};

	words_duration(self, sum->self_ns);
	words_percent(self_share, sum->self_ns, print->whole_ns);
	words_duration(total, sum->total_ns);
	words_percent(total_share, sum->total_ns, print->whole_ns);
	table_add(table, cells);
}

void print_functions(const struct print *print,
		     const struct function_sums *functions)
{
	static const struct table_column columns[] = {
		{"SELF", true, TABLE_NEVER, 0, 0},
		{"%", true, TABLE_NEVER, 0, 0},
		{"TOTAL", true, TABLE_NEVER, 0, 0},
		{"%", true, TABLE_NEVER, 0, 0},
		{"FUNCTION", false, TABLE_MIDDLE, 0, 8},
	};
	size_t count = sizeof(columns) / sizeof(*columns);
	struct table *table = table_create(columns, count);

	for (size_t i = 0; i < functions->count && i < print->limit; i++)
		add_row(table, print, &functions->items[i]);
	table_print(table, stdout, &print->screen, print->limit);
	table_destroy(table);
	if (functions->count > print->limit)
		printf("(%zu more functions; --limit=0 shows all)\n",
		       functions->count - print->limit);
}
