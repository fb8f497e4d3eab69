#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether scripts/check-objects can fail: small programs with one thing wrong
each."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from checks import handler, library, marks, objects  # noqa: E402

FLAGS = ["-std=gnu17", "-O2", "-fPIC", "-fvisibility=hidden",
         "-ftls-model=initial-exec", "-ffunction-sections",
         "-fno-stack-protector", "-fno-builtin"]
LINK = ["-shared", "-Wl,-z,relro,-z,now,-z,nodelete"]

DECLARATIONS = """
#define EXPORT __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline))
void *malloc(unsigned long);
int puts(const char *);
void other_sig(void), other_app(void), other(void), worker(void), listed(void);
extern int shared;
"""

# What the functions above are, each in its folder.
OTHERS = {
    "sampler/other.c": "void other_sig(void) {} void worker(void) {}",
    "hooks/other.c": "void other_app(void) {} int shared;",
    "preload/other.c": "void other(void) {} void listed(void) {}",
}

SIG_LIST = "listed sig it is harmless\nworker thread begins a thread\n"
APP_LIST = "puts hooks/mine.c a reason\n"


class Case(unittest.TestCase):
    """Compiles into a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="spanprof-gates-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compile(self, source, text, flags=()):
        path = self.folder / source
        path.parent.mkdir(exist_ok=True)
        path.write_text(DECLARATIONS + text)
        target = path.with_suffix(".o")
        subprocess.run(["gcc", *FLAGS, *flags, "-c", "-o", target, path],
                       check=True)
        return target


class MarksTest(Case):
    """Each breach of the rule of ranks is found, and nothing else."""

    def judge(self, source, text, flags=()):
        """The complaints about one more source beside the others."""
        files = {**OTHERS, source: text}
        read = [objects.Object(self.compile(name, code, flags), name)
                for name, code in files.items()]
        (self.folder / "sig").write_text(SIG_LIST)
        (self.folder / "app").write_text(APP_LIST)
        self.allowed = marks.Allowed(self.folder / "sig", self.folder / "app")
        found = marks.check(read, self.allowed, "here")
        return [violation for _, violations in found
                for violation in violations]

    def accept(self, source, text, flags=()):
        self.assertEqual(self.judge(source, text, flags), [])

    def refuse(self, source, text, word, flags=()):
        found = self.judge(source, text, flags)
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def test_the_ranks_may_call_what_they_may(self):
        self.accept("sampler/mine.c", """
            static NOINLINE void helper(void) { other_sig(); }
            void *mine_sig(void) { helper(); listed(); return worker; }
            void mine_app(void) { other_app(); mine_sig(); }
            void step(void) {}
            void run(void) { step(); mine_sig(); }""")
        self.accept("hooks/mine.c", """
            static NOINLINE void helper(void) { other(); other_app(); }
            void mine(void) { helper(); other_sig(); puts("x"); shared++; }""")

    def test_a_handler_function_calls_nothing_of_libc(self):
        self.refuse("sampler/mine.c",
                    "int mine_sig(void) { return !malloc(1); }", "malloc")

    def test_a_handler_function_outside_the_sampler_is_held_to_it_too(self):
        self.refuse("hooks/mine.c",
                    "int mine_sig(void) { return !malloc(1) + 1; }", "malloc")

    def test_a_call_in_the_last_place_is_a_call(self):
        self.refuse("sampler/mine.c", "void mine_sig(void) { other_app(); }",
                    "calls other_app")

    def test_a_handler_function_needs_marked_ones_of_other_files(self):
        self.refuse("sampler/mine.c", "void mine_sig(void) { other(); }",
                    "calls other (app)")

    def test_a_static_function_is_held_to_its_callers_rank(self):
        self.refuse("preload/mine.c", """
            static NOINLINE void deep(void) { other_app(); }
            static NOINLINE void helper(void) { deep(); deep(); }
            void mine_sig(void) { helper(); helper(); }""", "deep (sig)")

    def test_a_function_in_a_table_counts_as_called(self):
        self.refuse("sampler/mine.c", """
            static void *const table[] = {(void *)other_app, (void *)worker};
            void *mine_sig(int i) { return table[i]; }""", "names other_app")

    def test_a_function_whose_address_is_handed_on_counts_as_called(self):
        self.refuse("sampler/mine.c",
                    "void *mine_sig(void) { return other_app; }",
                    "names other_app")

    def test_a_copy_that_the_compiler_makes_a_call_is_found(self):
        self.refuse("sampler/mine.c", """
            struct big { char bytes[9999]; };
            void mine_sig(struct big *a, struct big *b) { *a = *b; }""",
                    "memcpy")

    def test_the_first_function_of_a_thread_is_not_called(self):
        self.refuse("sampler/mine.c",
                    "int mine_sig(void) { worker(); return 1; }",
                    "begins a thread")

    def test_the_sampler_thread_calls_no_libc_and_no_program_rank(self):
        self.refuse("sampler/mine.c", "int run(void) { return puts(\"x\"); }",
                    "run (sampler) needs puts")
        self.refuse("sampler/mine.c",
                    "int run(void) { other_app(); return 1; }", "other_app")

    def test_program_code_calls_only_the_libc_functions_listed_for_it(self):
        self.refuse("hooks/mine.c",
                    "int mine(void) { return !malloc(1); }", "malloc")
        self.refuse("hooks/other2.c",
                    "int mine(void) { return puts(\"x\"); }", "puts")

    def test_program_code_leaves_the_sampler_threads_functions_alone(self):
        self.refuse("hooks/mine.c",
                    "int mine(void) { worker(); return 1; }", "worker")

    def test_thread_local_data_is_the_programs(self):
        text = "static __thread int own; int mine%s(void) { return ++own; }"
        self.refuse("sampler/mine.c", text % "_app", "%fs")
        self.refuse("preload/mine.c", text % "_sig", "%fs")
        self.accept("preload/mine.c", text % "_app")

    def test_without_optimisation_what_was_inlined_is_seen(self):
        self.refuse("sampler/mine.c", """
            static inline int never(void) { return !malloc(1); }
            int mine_sig(int a) { return a && !a ? never() : 0; }""",
                    "never", ["-O0"])

    def test_an_entry_that_nobody_needs_is_told(self):
        self.accept("sampler/mine.c", "void mine_sig(void) { listed(); }")
        self.assertEqual([text.split()[0] for text in self.allowed.unused()],
                         ["puts", "worker"])

    def test_a_list_without_reasons_is_refused(self):
        for text in ("listed sig\n", "listed perhaps a reason\n"):
            (self.folder / "sig").write_text(text)
            (self.folder / "app").write_text("")
            with self.assertRaises(marks.BadList):
                marks.Allowed(self.folder / "sig", self.folder / "app")


GOOD_LIBRARY = """
static int hook_read __attribute__((used));
EXPORT int read(void) { return hook_read; }
EXPORT int spanprof_version(void) { return 1; }
"""


class LibraryTest(Case):
    """Each thing that a preloaded library must not have is found."""

    def judge(self, text, link=(), flags=(), exports="read; spanprof_*;"):
        """The statements that fail, and the complaints."""
        target = self.compile("mine.c", GOOD_LIBRARY + text, flags)
        path = self.folder / "mine.so"
        exports_map = self.folder / "exports.map"
        exports_map.write_text("{ global: /* all */ %s local: *; };" % exports)
        subprocess.run(["gcc", *LINK, "-o", path, target, *link], check=True)
        return [violation for _, violations
                in library.check(path, exports_map)
                for violation in violations]

    def refuse(self, word, *arguments, **more):
        found = self.judge(*arguments, **more)
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def test_a_good_library_is_accepted(self):
        self.assertEqual(self.judge(""), [])

    def test_other_libraries_are_found(self):
        self.refuse("libm.so.6", "", link=["-Wl,--no-as-needed", "-lm"])

    def test_functions_of_a_new_libc_are_found(self):
        self.refuse("GLIBC_2.34", """int pthread_detach(unsigned long);
            int mine(void) { return pthread_detach(1); }
            void *use = mine;""")

    def test_stray_exports_are_found(self):
        self.refuse("exports stray", "EXPORT int stray;")

    def test_an_export_without_a_hook_is_found(self):
        self.refuse("exports write", "EXPORT int write;",
                    exports="read; write; spanprof_*;")

    def test_a_hook_that_is_not_exported_is_found(self):
        self.refuse("HOOK(write)",
                    "static int hook_write __attribute__((used));")

    def test_a_name_without_a_function_is_found(self):
        self.refuse("lists send", "", exports="read; send; spanprof_*;")

    def test_missing_hardening_is_found(self):
        for link, word in (("-z,lazy", "NOW"), ("-z,norelro", "GNU_RELRO"),
                           ("-z,execstack", "GNU_STACK"),
                           ("-rpath,/nowhere", "RUNPATH")):
            with self.subTest(link):
                found = self.judge("", link=[f"-Wl,{link}"])
                self.assertTrue(any(word in text for text in found), found)

    def test_text_that_the_loader_must_change_is_found(self):
        found = self.judge('__asm__(".text; .quad spanprof_version");',
                           link=["-Wl,-z,notext"])
        self.assertTrue(any("TEXTREL" in text for text in found), found)

    def test_much_thread_local_data_is_found(self):
        self.refuse("600 bytes", "__thread char own[600];"
                    "char *use(void) { return own; } void *used = use;")

    def test_thread_local_data_that_is_found_by_a_call_is_found(self):
        found = self.judge("""EXPORT __thread int spanprof_own;
            int *use(void) { return &spanprof_own; } void *used = use;""",
                           flags=["-ftls-model=global-dynamic"])
        self.assertTrue(any("DTPMOD64" in text for text in found), found)
        self.assertTrue(any("__tls_get_addr" in text for text in found), found)


class HandlerTest(Case):
    """What the handler's tree of calls must not have is found."""

    def judge(self, text):
        target = self.compile("mine.c", text + """
            static NOINLINE void handle_sig(int n) { mine_sig(n); }
            void *use = handle_sig;""")
        path = self.folder / "mine.so"
        subprocess.run(["gcc", *LINK, "-o", path, target], check=True)
        return [violation for _, violations in handler.check(path)
                for violation in violations]

    def refuse(self, word, text):
        found = self.judge(text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def test_a_small_handler_is_accepted(self):
        self.assertEqual(self.judge(
            "static NOINLINE void mine_sig(int n) { shared += n; }"
            "int shared;"), [])

    def test_a_library_without_the_handler_is_refused(self):
        target = self.compile("mine.c", "int mine;")
        path = self.folder / "mine.so"
        subprocess.run(["gcc", *LINK, "-o", path, target], check=True)
        self.assertTrue(handler.check(path)[0][1])

    def test_much_stack_is_found_on_the_deepest_path(self):
        self.refuse("bytes of stack", """
            static NOINLINE void deep(int n)
            { volatile char a[500]; a[n] = 1; a[n + 1] = 2; }
            static NOINLINE void mine_sig(int n)
            { volatile char a[500]; a[n] = 1; deep(n); a[n] = 2; }""")

    def test_stack_of_unknown_size_is_found(self):
        self.refuse("inf bytes", """
            static NOINLINE void mine_sig(int n)
            { volatile char a[n]; a[n - 1] = 1; }""")

    def test_recursion_is_found(self):
        self.refuse("inf bytes", """
            static NOINLINE void mine_sig(int n);
            static NOINLINE int again(int n)
            { if (n) mine_sig(n - 1); return n; }
            static NOINLINE void mine_sig(int n)
            { shared += again(n) * shared; }
            int shared;""")

    def test_a_call_of_itself_is_found(self):
        self.refuse("inf bytes", """
            static NOINLINE int self(int n)
            { return n ? self(n / 2) * self(n - 1) : 1; }
            static NOINLINE void mine_sig(int n) { shared += self(n); }
            int shared;""")

    def test_calls_through_pointers_are_found(self):
        self.refuse("through a pointer", """
            void (*volatile pointer)(void);
            static NOINLINE void mine_sig(int n) { pointer(); shared = n; }
            int shared;""")

    def test_libc_is_found(self):
        self.refuse("reaches libc", """
            static NOINLINE void mine_sig(int n) { shared = !malloc(n); }
            int shared;""")

    def test_thread_local_data_is_found(self):
        self.refuse("%fs", """static __thread int own;
            static NOINLINE void mine_sig(int n) { own += n; }
            int *read(void) { return &own; } void *used = read;""")


if __name__ == "__main__":
    unittest.main()
