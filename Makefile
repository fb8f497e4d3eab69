# SPDX-License-Identifier: Apache-2.0
#
# make            build/libspanprof.so, -supervisor, -exporter and spanprof
# make demo       everything from a fresh machine to the code of one request
# make check      unit tests, fuzzing corpora, checks of the object code, e2e
# make lint       style, warnings, clang-tidy
# make endings    ends programs, and us, in all ways, 20 times
# make bench      what it costs
# make load       a minute of many requests, all of which must arrive
# make pyroscope  whether a real one finds what is pushed: SERVER=http://HOST
# make fuzz       fuzzes each parser for FUZZ_SECONDS
# make install    PREFIX=/usr/local, DESTDIR=
# make bundle     PREFIX=/opt/spanprof, DESTDIR=: an installation that can be
#                 copied into any x86-64 image
#
# V=1 shows the commands; SAN=address,undefined builds the tests with sanitizers
# (into a folder of their own).

PREFIX ?= /usr/local
DESTDIR ?=
LIBDIR ?= $(PREFIX)/lib
LIBEXECDIR ?= $(PREFIX)/libexec/spanprof
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
INCLUDEDIR ?= $(PREFIX)/include
FUZZ_SECONDS ?= 60

comma := ,
B := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

CC ?= gcc
WARNINGS := -Wall -Wextra -Wshadow -Wundef -Wcast-qual -Wwrite-strings \
	-Wstrict-prototypes -Wmissing-prototypes -Wvla
COMMON := -std=gnu17 -D_GNU_SOURCE -O2 -g $(WARNINGS) $(if $(WERROR),-Werror) \
	-I. -I$(B)/gen -MMD -MP \
	$(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer \
	-fno-sanitize-recover=all)

# The preloaded library: alone in a stranger's process. The sampler and what it
# uses may run where no libc is: no stack protector (it reads %fs), no calls
# that the compiler makes up.
BARE := -fno-stack-protector -fno-builtin -fno-tree-loop-distribute-patterns
PRELOAD_FLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	-ffunction-sections -U_FORTIFY_SOURCE \
	-DSPANPROF_LIBEXEC='"$(LIBEXECDIR)"'
PRELOAD_LINK := -shared -Wl,-soname,libspanprof.so \
	-Wl,--version-script=preload/exports.map \
	-Wl,-z,defs,-z,relro,-z,now,-z,nodelete -Wl,--exclude-libs,ALL \
	-Wl,--no-as-needed -l:libdl.so.2 -Wl,--as-needed
HARDENED := -fPIE -fstack-protector-strong -D_FORTIFY_SOURCE=2
HARDENED_LINK := -pie -Wl,-z,relro,-z,now
# What stands between an image and its program runs whatever libc is there.
STATIC_LINK := -static-pie -Wl,-z,relro,-z,now

PRELOAD_SOURCES := $(wildcard preload/*.c hooks/*.c sampler/*.c)
EXPORTER_SOURCES := $(wildcard exporter/*.c)
REPORT_SOURCES := $(wildcard report/*.c)
SUPERVISOR_SOURCES := $(wildcard supervisor/*.c)
SHARED_SOURCES := preload/config.c preload/rendezvous.c

PACKAGES := libunwind-generic libprotobuf-c libelf libdw liblzma zlib jansson yajl libcurl
EXPORTER_LIBS = -lunwind-x86_64 -liberty \
	$(shell pkg-config --libs libprotobuf-c libelf libdw liblzma zlib \
	yajl libcurl) -lpthread -lm
REPORT_LIBS = $(shell pkg-config --libs libprotobuf-c zlib jansson) -lm

objects = $(patsubst %.c,$(B)/$(2)/%.o,$(1))
PRELOAD_OBJECTS := $(call objects,$(PRELOAD_SOURCES),preload)
UNOPTIMISED_OBJECTS := $(call objects,$(PRELOAD_SOURCES),O0)
PROTOS := $(wildcard exporter/*.proto)
PROTO_HEADERS := $(PROTOS:%.proto=$(B)/gen/%.pb-c.h)
PROTO_OBJECTS := $(PROTOS:%.proto=$(B)/program/gen/%.pb-c.o)
EXPORTER_OBJECTS := $(call objects,$(EXPORTER_SOURCES) $(SHARED_SOURCES) \
	supervisor/restart.c,program) \
	$(PROTO_OBJECTS)
REPORT_OBJECTS := $(call objects,$(REPORT_SOURCES) exporter/fold_ids.c \
	exporter/words.c,program) \
	$(B)/program/gen/exporter/profile.pb-c.o
SUPERVISOR_OBJECTS := $(call objects,$(SUPERVISOR_SOURCES) $(SHARED_SOURCES) \
	exporter/utf8.c,program)

PRODUCTS := $(B)/libspanprof.so $(B)/spanprof-supervisor \
	$(B)/spanprof-exporter $(B)/spanprof

.DEFAULT_GOAL := all
.PHONY: all demo everything check unit lint endings bench load pyroscope fuzz install \
	bundle clean test-programs
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PRODUCTS)

# ---- the four products ----

$(B)/libspanprof.so: $(PRELOAD_OBJECTS) preload/exports.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(if $(SAN),-fsanitize=$(SAN)) -o $@ $(PRELOAD_OBJECTS) $(PRELOAD_LINK) $(LDFLAGS)

$(B)/spanprof-exporter: $(EXPORTER_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(if $(SAN),-fsanitize=$(SAN)) -o $@ $^ $(HARDENED_LINK) $(EXPORTER_LIBS) $(LDFLAGS)

$(B)/spanprof-supervisor: $(SUPERVISOR_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(if $(SAN),-fsanitize=$(SAN) $(HARDENED_LINK),$(STATIC_LINK)) -o $@ $^ $(LDFLAGS)

$(B)/spanprof-launcher: bundle/launcher.c Makefile
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(HARDENED) $(CFLAGS) -o $@ $< $(STATIC_LINK) $(LDFLAGS)

$(B)/spanprof: $(REPORT_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(if $(SAN),-fsanitize=$(SAN)) -o $@ $^ $(HARDENED_LINK) $(REPORT_LIBS) $(LDFLAGS)

$(B)/preload/sampler/%.o $(B)/preload/preload/%.o: OWN_FLAGS := $(BARE)

$(B)/preload/%.o: %.c Makefile | $(B)/deps.ok
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(PRELOAD_FLAGS) $(OWN_FLAGS) $(CFLAGS) -c -o $@ $<

# The same without optimisation, for scripts/check-objects: no call is inlined.
$(B)/O0/sampler/%.o $(B)/O0/preload/%.o: OWN_FLAGS := $(BARE)

$(B)/O0/%.o: %.c Makefile | $(B)/deps.ok
	$(call say,CC -O0,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(PRELOAD_FLAGS) $(OWN_FLAGS) $(CFLAGS) -O0 -c -o $@ $<

$(B)/program/gen/%.o: $(B)/gen/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(HARDENED) -w $(CFLAGS) -c -o $@ $<

$(B)/program/%.o: %.c Makefile $(PROTO_HEADERS) | $(B)/deps.ok
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(if $(SAN),,$(HARDENED)) $(CFLAGS) -c -o $@ $<

$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: %.proto | $(B)/deps.ok
	$(call say,PROTOC,$<)
	@mkdir -p $(B)/gen
	$(Q)protoc-c --c_out=$(B)/gen $<

# What must be there, told by the name of the Debian package that brings it.
$(B)/deps.ok: Makefile scripts/check-deps
	@mkdir -p $(@D)
	@scripts/check-deps $(PACKAGES)
	@touch $@

# ---- tests ----

# The unit tests link what they test from archives. The shims that interpose
# libc are left out: a test's own read() must stay libc's.
SHIMS := preload/init.c preload/threads.c hooks/socket_io.c \
	hooks/socket_life.c hooks/wait.c hooks/identity.c hooks/system_call.c \
	hooks/signal_mask.c hooks/signal_action.c hooks/children.c
TESTED_SOURCES := $(filter-out $(SHIMS),$(PRELOAD_SOURCES)) \
	$(filter-out exporter/main.c,$(EXPORTER_SOURCES)) \
	$(filter-out report/main.c,$(REPORT_SOURCES)) \
	$(filter-out supervisor/main.c,$(SUPERVISOR_SOURCES)) \
	$(wildcard tests/lib/*.c)
TESTED_SOURCES := $(filter-out tests/lib/unit.c,$(TESTED_SOURCES))
TESTED_LIBRARY := $(B)/tests/tested.a
UNIT_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/*_test.c))
FUZZERS := $(patsubst tests/fuzz/%_fuzz.c,%,$(wildcard tests/fuzz/*_fuzz.c))
REPLAYS := $(patsubst %,$(B)/tests/fuzz/%_replay,$(FUZZERS))
TEST_LIBS = $(EXPORTER_LIBS) $(REPORT_LIBS) -ldl -lm

$(TESTED_LIBRARY): $(call objects,$(TESTED_SOURCES),program) $(PROTO_OBJECTS)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(B)/tests/unit/%_test: $(B)/program/tests/unit/%_test.o $(B)/program/tests/lib/unit.o $(TESTED_LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(if $(SAN),-fsanitize=$(SAN)) -rdynamic -o $@ $^ $(TEST_LIBS)

$(B)/tests/fuzz/%_replay: $(B)/program/tests/fuzz/%_fuzz.o $(B)/program/tests/fuzz/replay.o $(TESTED_LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(if $(SAN),-fsanitize=$(SAN)) -o $@ $^ $(TEST_LIBS)

# Programs that the end-to-end tests profile: built as any program would be.
BURN_SOURCES := $(wildcard tests/servers/burn*.c) tests/servers/http.c \
	tests/servers/io_calls.c tests/servers/service.c
BLOCKSTORE_SOURCES := $(wildcard tests/servers/blockstore*.c) \
	tests/servers/http.c tests/servers/service.c
SERVER_FLAGS := -std=gnu17 -D_GNU_SOURCE -O2 -g $(WARNINGS) -I.

$(B)/servers/burn: $(BURN_SOURCES) $(wildcard tests/servers/*.h)
$(B)/servers/flood: tests/servers/flood.c
$(B)/servers/forks: tests/servers/forks.c
$(B)/servers/blockstore: $(BLOCKSTORE_SOURCES) $(wildcard tests/servers/*.h)
$(B)/servers/ends: tests/servers/ends.c
$(B)/servers/ends-static: tests/servers/ends.c
$(B)/servers/ends-static: SERVER_LINK := -static
$(B)/servers/%:
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SERVER_FLAGS) $(if $(WERROR),-Werror) $(SERVER_LINK) -o $@ $(filter %.c,$^) -lpthread

$(B)/drivers/%: $(B)/program/tests/drivers/%.o $(TESTED_LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(if $(SAN),-fsanitize=$(SAN)) -o $@ $^ $(TEST_LIBS)

# Programs in whose lives the agent is a guest: one file each.
GUESTS := $(patsubst tests/guests/%.c,$(B)/guests/%,$(wildcard tests/guests/*.c))

$(B)/guests/%: tests/guests/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SERVER_FLAGS) $(if $(WERROR),-Werror) -o $@ $< -lpthread

test-programs: $(addprefix $(B)/servers/,burn blockstore ends ends-static flood forks) \
	$(B)/drivers/pushing $(B)/drivers/names $(GUESTS)

unit: $(UNIT_TESTS) $(REPLAYS) $(B)/spanprof-exporter
	$(Q)SPANPROF_BUILD=$(B) tests/run --unit $(UNIT_TESTS) --replay $(REPLAYS)

everything: all $(B)/spanprof-launcher $(UNIT_TESTS) $(REPLAYS) test-programs $(UNOPTIMISED_OBJECTS)

check: everything
	$(Q)SPANPROF_BUILD=$(B) tests/run --unit $(UNIT_TESTS) --replay $(REPLAYS) \
		$(if $(SAN),,--checks) --e2e $(sort $(wildcard tests/e2e/*_test.py))

# Longer than in a check: some 40 minutes on two processors.
endings: everything
	$(Q)for t in $(sort $(wildcard tests/e2e/endings*_test.py)); do \
		SPANPROF_BUILD=$(B) SPANPROF_ENDINGS=20 \
		SPANPROF_ENDINGS_MS=2000 /usr/bin/python3 $$t || exit 1; \
	done

FUZZ_FLAGS := -std=gnu17 -D_GNU_SOURCE -O1 -g -I. -I$(B)/gen \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
FUZZ_LIBRARY := $(B)/fuzz/tested.a

$(B)/fuzz/program/%.o: %.c Makefile $(PROTO_HEADERS)
	@mkdir -p $(@D)
	$(Q)clang $(subst =fuzzer,=fuzzer-no-link,$(FUZZ_FLAGS)) -c -o $@ $<

$(FUZZ_LIBRARY): $(TESTED_SOURCES:%.c=$(B)/fuzz/program/%.o)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(B)/fuzz/%: tests/fuzz/%_fuzz.c $(FUZZ_LIBRARY) $(PROTOS:%.proto=$(B)/gen/%.pb-c.c)
	$(call say,FUZZER,$@)
	$(Q)clang $(FUZZ_FLAGS) -o $@ $(filter %.c,$^) $(FUZZ_LIBRARY) $(TEST_LIBS)

# libdw has faults that the fuzzer of DWARF finds within a minute; it runs in a
# process of its own for that reason. Ask for it: make fuzz FUZZED=dwarf.
FUZZED := $(filter-out dwarf,$(FUZZERS))

fuzz: $(patsubst %,$(B)/fuzz/%,$(FUZZED))
	$(Q)for f in $(FUZZED); do \
		mkdir -p $(B)/fuzz/found/$$f; \
		$(B)/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
			-artifact_prefix=$(B)/fuzz/found/$$f/ \
			$(B)/fuzz/found/$$f tests/fuzz/corpus/$$f || exit 1; \
	done

$(B)/bench/micro: tests/bench/micro.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SERVER_FLAGS) -o $@ $< -lpthread

$(B)/bench/%: $(B)/program/tests/bench/%.o $(TESTED_LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(TEST_LIBS)

bench: all $(addprefix $(B)/bench/,micro http1_bench export_bench names_bench)
	$(Q)SPANPROF_BUILD=$(B) tests/bench/run

load: all test-programs
	$(Q)SPANPROF_BUILD=$(B) LOAD_SECONDS=60 tests/e2e/push_load_test.py

pyroscope: all $(B)/servers/burn
	$(Q)SPANPROF_BUILD=$(B) SERVER='$(SERVER)' TENANT='$(TENANT)' \
		tests/pyroscope/check.py

lint:
	$(Q)scripts/lint

# ---- the demonstration ----

demo:
	$(Q)scripts/install-deps
	$(Q)$(MAKE) --no-print-directory -j2 all $(B)/servers/blockstore
	$(Q)scripts/demo

# ---- installation ----

install: all
	$(Q)install -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(LIBEXECDIR) \
		$(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1
	$(Q)install -m 644 $(B)/libspanprof.so $(DESTDIR)$(LIBDIR)/libspanprof.so.new
	$(Q)mv $(DESTDIR)$(LIBDIR)/libspanprof.so.new $(DESTDIR)$(LIBDIR)/libspanprof.so
	$(Q)install -m 755 $(B)/spanprof-exporter $(B)/spanprof-supervisor $(DESTDIR)$(LIBEXECDIR)
	$(Q)install -m 755 $(B)/spanprof scripts/container-entrypoint $(DESTDIR)$(BINDIR)
	$(Q)sed -e 's|^libdir=.*|libdir=$(LIBDIR)|' \
		-e 's|^libexecdir=.*|libexecdir=$(LIBEXECDIR)|' scripts/spanprof-run \
		> $(B)/spanprof-run.installed
	$(Q)install -m 755 $(B)/spanprof-run.installed $(DESTDIR)$(BINDIR)/spanprof-run
	$(Q)install -m 644 report/spanprof.1 scripts/spanprof-run.1 $(DESTDIR)$(MANDIR)/man1
	$(Q)[ -n "$(DESTDIR)" ] || ldconfig

bundle: PREFIX = /opt/spanprof
bundle: install $(B)/spanprof-launcher
	$(Q)scripts/bundle $(B) $(DESTDIR)$(PREFIX)

clean:
	$(Q)rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
