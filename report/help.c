/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The help texts of the spanprof command.
 * Runs on: nothing, it is data.
 */
#include "report/help.h"

#define INPUTS                                                                \
	"DIR is the folder that a recording wrote, spanprof.out by default; " \
	"single\nfiles will do too. Damaged files are named and left out, "   \
	"and "                                                                \
	"the exit status\nis 1 then.\n"

#define COMMON                                                              \
	"      --json          for programs: all rows, nanoseconds, full "  \
	"ids\n"                                                             \
	"  -w, --wide          don't cut columns to the terminal's width\n" \
	"      --color=WHEN    auto (default), always, never\n"             \
	"  -h, --help          this text\n"

const char help_all[] =
	"Examples:\n"
	"  spanprof spans                      the slowest requests in "
	"./spanprof.out\n"
	"  spanprof show 9f86d081              one request: its functions and "
	"call tree\n"
	"  spanprof top                        functions over everything\n"
	"  spanprof top --operations           kinds of requests: count, p95, "
	"CPU\n"
	"  spanprof top --name='GET /a/{id}'   functions of one kind\n"
	"\n"
	"Usage: spanprof COMMAND [OPTION...] [DIR|FILE...]\n"
	"\n"
	"Shows what spanprof-run recorded.\n"
	"\n"
	"Commands:\n"
	"  spans   a row for each request (span)\n"
	"  show    one request, or all of a trace\n"
	"  top     functions, or with --operations kinds of requests\n"
	"\n"
	"  -h, --help      this text; also after a command\n"
	"  -V, --version   the version\n"
	"\n"
	"Exit status: 0, 1 when data are damaged or missing, 2 for a wrong "
	"command line.\n";

const char help_spans[] =
	"Examples:\n"
	"  spanprof spans                        the slowest first\n"
	"  spanprof spans --sort=cpu --limit=10  the ten that used most CPU\n"
	"  spanprof spans --name=/login out/     of some requests only\n"
	"  spanprof spans --json | jq '.[0].span_id'\n"
	"\n"
	"Usage: spanprof spans [OPTION...] [DIR|FILE...]\n"
	"\n"
	"Prints a row for each span: trace, span, parent, start (UTC), "
	"duration, CPU\ntime, samples, status, name. CPU time is exact, or an "
	"estimate marked ~. Ids\nare cut to digits that still tell them "
	"apart.\n\n" INPUTS "\n"
	"  -s, --sort=ORDER    duration (default), cpu, samples: the largest "
	"first;\n"
	"                      start: the earliest first\n"
	"  -n, --limit=N       the first N rows\n"
	"  -N, --name=NAME     spans of that operation, or with NAME in their "
	"name\n" COMMON;

const char help_show[] =
	"Examples:\n"
	"  spanprof show 9f86d081884c7d65        a span\n"
	"  spanprof show 9f86                    the only one that begins so\n"
	"  spanprof show profile_id=9F86D081884C7D65 out/\n"
	"  spanprof show 4bf92f3577b34da6a3ce929d0e0e4736  all spans of a "
	"trace\n"
	"\n"
	"Usage: spanprof show SPAN_ID [OPTION...] [DIR|FILE...]\n"
	"\n"
	"Prints what is known of a span, how much its samples can tell, its "
	"functions\n(self: used by the function itself; total: with its "
	"callees) and its call tree.\nSPAN_ID: 4 or more digits that begin "
	"a span id, else a trace id (all its spans);\nspan_id=, profile_id= "
	"or trace_id= in front is fine.\n\n" INPUTS "\n"
	"  -f, --full          all functions and all of the tree (else 1 % and "
	"more)\n"
	"  -l, --lines         a row for each source line, where one is known\n"
	"  -n, --limit=N       the first N functions (default 15; 0: "
	"all)\n" COMMON;

const char help_top[] =
	"Examples:\n"
	"  spanprof top                          functions of the whole "
	"program\n"
	"  spanprof top --name='POST /jobs'      of requests of that name\n"
	"  spanprof top --name='GET /users/{id}' of that operation\n"
	"  spanprof top --operations out/        a row for each operation\n"
	"\n"
	"Usage: spanprof top [OPTION...] [DIR|FILE...]\n"
	"\n"
	"Prints the functions that used most CPU (self: by the function "
	"itself; total:\nwith its callees), then which share has a span, which "
	"was used between samples\n([unsampled]), and what was lost.\n"
	"\n"
	"An operation is the method and the path, with numbers, UUIDs and 8 "
	"or more hex\ndigits as {id}; or the span's name where it has a "
	"route.\n\n" INPUTS "\n"
	"  -o, --operations    operations: count, p50, p95, max of the "
	"duration, CPU\n"
	"                      time in all and a request, samples\n"
	"  -l, --lines         a row for each source line, where one is known\n"
	"  -N, --name=NAME     that operation, or spans with NAME in their "
	"name\n"
	"  -n, --limit=N       the first N rows (default 30; 0: all)\n" COMMON;
