#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What spanprof-run says to people: which options it refuses, why a program
can't be profiled or run, and what came of a run. What stands in the way of us
never stands in the way of the program."""
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, profile, run  # noqa: E402
from lib.recorder import Answer, Recorder  # noqa: E402

NOBODY = 65534
COLUMNS = 80
LINES = 12
C = "#include <unistd.h>\nint main(void) { return write(1, \"ran\\n\", 4) + 3; }"
GO = "package main\nimport \"os\"\nfunc main() {\n" \
    "os.Stdout.WriteString(\"ran\\n\"); os.Exit(7) }\n"
BURN = "import time\nwhile time.process_time() < {}: pass\n"
STATUS = 7


def environment(**more):
    """Ours to be; the report command is found by its name."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("SPANPROF_", "PYROSCOPE_", "OTEL_", "LD_"))}
    env["PATH"] = f"{run.REPORT.parent}:{env['PATH']}"
    env.update(more)
    return env


def call(command, wrapper=run.WRAPPER, env=None, **options):
    """The status, output and lines of spanprof-run."""
    done = subprocess.run([str(wrapper), *map(str, command)],
                          env=environment(**(env or {})), timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **options)
    return done.returncode, done.stdout, done.stderr.decode().splitlines()


def elf32():
    """A program of 32 bits that ends with STATUS, if the kernel runs it."""
    code = b"\xb8\1\0\0\0\xbb" + struct.pack("<I", STATUS) + b"\xcd\x80"
    base = 0x8048000
    head = b"\x7fELF\1\1\1" + bytes(9) + struct.pack(
        "<HHIIIIIHHHHHH", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    size = 84 + len(code)
    return head + struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5,
                              4096) + code


class Case(unittest.TestCase):

    def setUp(self):
        folder = run.temporary_folder(public=True)
        self.folder = pathlib.Path(folder.__enter__())
        self.addCleanup(folder.__exit__, None, None, None)

    def call(self, command, options=(), **more):
        """Its lines are ours: prefixed, and no longer than a terminal is
        wide, as long as the names in them aren't."""
        output = self.folder / "p"
        status, out, lines = call(["-o", output, *options, "--", *command],
                                  cwd=self.folder, **more)
        for line in lines:
            self.assertTrue(line.startswith("spanprof: "), line)
        return status, out, lines

    def compile(self, *command, source=C, name="program"):
        suffix = ".go" if command[0].endswith("go") else ".c"
        path = self.folder / f"source{suffix}"
        path.write_text(source)
        program = self.folder / name
        subprocess.run([*command, "-o", str(program), str(path)], check=True,
                       cwd=self.folder)
        return program


class OptionTest(Case):

    def test_what_makes_no_sense_is_refused_with_a_reason(self):
        (self.folder / "file").write_text("")
        (self.folder / "link").symlink_to("file")
        for option, value, reason in (
                ("--rate", "0", "1 to 1000"), ("--rate", "1001", "1 to 1000"),
                ("--rate", "fast", "1 to 1000"), ("--rate", "-5", "1 to 1000"),
                ("--interval", "1h", "1s to 15s"),
                ("--spans", "some", "root, all or none"),
                ("--label", "x", "NAME=VALUE"), ("--label", "=x", "NAME=VALUE"),
                ("--label", "a=b,c=d", "comma"),
                ("--server", "ftp://host", "http://"),
                ("--server", "http://", "host"),
                ("--server", "http://h:99999", "port"),
                ("--server", "localhost:4040", "http://"),
                ("--output", "file/below", "Not a directory"),
                ("--output", "file", "Not a directory"),
                ("--log", "no/such/log", "No such file"),
                ("--log", "link", "symbolic links"),
                ("--service", "", "needs a value"),
                ("--no-such", "", "unknown option")):
            with self.subTest(option=option, value=value):
                for given in ([option, value], [f"{option}={value}"]):
                    status, out, lines = call([*given, "echo", "ran"],
                                              cwd=self.folder)
                    self.assertEqual((status, out), (125, b""))
                    self.assertIn(option, lines[0])
                    self.assertIn(reason, lines[0])
                    self.assertEqual(lines[1:],
                                     ["spanprof: see: spanprof-run --help"])

    def test_the_same_in_the_environment_stops_nothing(self):
        for name, value in (("RATE", "0"), ("INTERVAL", "1h"),
                            ("SPANS", "some"), ("SERVER", "ftp://host"),
                            ("OUTPUT", "/etc/passwd/below"),
                            ("LOG", "/no/such/log"), ("LABELS", "x")):
            with self.subTest(name):
                status, out, lines = call(
                    ["echo", "ran"], cwd=self.folder,
                    env={f"SPANPROF_{name}": value})
                self.assertEqual((status, out), (0, b"ran\n"))
                if name != "LABELS":
                    self.assertIn(f"SPANPROF_{name}", "\n".join(lines))

    def test_a_secret_in_an_address_is_not_shown(self):
        for address in ("http://u:geheim@h:1x", "http://u:geheim@127.0.0.1:9"):
            _, _, lines = call(["--server", address, "true"], cwd=self.folder)
            self.assertTrue(lines)
            self.assertNotIn("geheim", "\n".join(lines))

    def test_help_begins_with_examples_and_knows_each_option(self):
        status, out, _ = call(["--help"])
        lines = out.decode().splitlines()
        self.assertEqual(status, 0)
        self.assertEqual(lines[2], "Examples:")
        self.assertLessEqual(len(lines), 60)
        self.assertLessEqual(max(map(len, lines)), COLUMNS)
        manual = (run.ROOT / "scripts" / "spanprof-run.1").read_text()
        for option in ("output", "server", "label", "service", "rate",
                       "interval", "spans", "log", "exec", "progress", "quiet",
                       "help", "version"):
            self.assertIn(f"--{option}", out.decode())
            self.assertRegex(manual, rf"Fl -{option}\b")


class ObstacleTest(Case):
    """Programs that can't be profiled run all the same."""

    def check(self, program, reason, **more):
        status, out, lines = self.call([program], **more)
        bare = subprocess.run([str(program)], stdout=subprocess.PIPE,
                              user=more.get("user"))
        self.assertEqual((status, out), (bare.returncode, bare.stdout))
        self.assertIn(reason, "\n".join(lines))
        for line in lines:
            self.assertLessEqual(
                len(line.replace(str(self.folder), "")), COLUMNS, line)
        quiet = self.call([program], ["-q"], **more)
        self.assertEqual(quiet, (status, out, []))

    def test_a_static_program(self):
        self.check(self.compile("gcc", "-static"), "is static: no loader")

    def test_a_go_program_without_libc(self):
        go, = run.need("go")
        os.environ.update(GOCACHE=str(self.folder / "cache"),
                          GOFLAGS="-mod=mod", CGO_ENABLED="0")
        self.addCleanup(os.environ.pop, "CGO_ENABLED")
        self.check(self.compile(go, "build", source=GO), "is static: no loader")
        self.check(self.compile(go, "build", "-buildmode=pie", source=GO),
                   "uses no C library")

    def test_a_program_of_another_libc(self):
        compiler, = run.need("musl-gcc")
        self.check(self.compile(compiler), "another C library than glibc")

    def test_a_program_of_32_bits(self):
        program = self.folder / "program"
        program.write_bytes(elf32())
        program.chmod(0o755)
        try:
            subprocess.run([str(program)])
        except OSError:
            # This kernel runs none; then neither do we.
            status, _, lines = self.call([program])
            self.assertEqual(status, 126)
            self.assertIn("no x86-64 program", lines[0])
            return
        self.check(program, "no x86-64 program")

    def test_a_script_of_a_static_interpreter(self):
        interpreter = self.compile("gcc", "-static")
        script = self.folder / "script"
        script.write_text(f"#!{interpreter} -x\n")
        script.chmod(0o755)
        self.check(script, f"{interpreter} is static")

    def test_a_program_that_changes_its_user(self):
        if os.geteuid() != 0:
            run.skip("needs root")
        program = self.compile("gcc")
        for mode, reason in ((0o4755, "set-user-id"), (0o2755, "set-group-id")):
            program.chmod(mode)
            (self.folder / "p").mkdir(exist_ok=True)
            (self.folder / "p").chmod(0o777)
            self.check(program, reason, user=NOBODY, group=NOBODY)
        # For root itself nothing changes: it is profiled.
        program.chmod(0o4755)
        _, _, lines = self.call([program])
        self.assertNotIn("set-user-id", lines[0])

    def test_a_program_with_capabilities(self):
        if os.geteuid() != 0:
            run.skip("needs root")
        program = self.compile("gcc")
        (self.folder / "p").mkdir(mode=0o777)
        (self.folder / "p").chmod(0o777)
        # struct vfs_cap_data, revision 2, effective: CAP_NET_BIND_SERVICE.
        os.setxattr(program, "security.capability",
                    struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
        self.check(program, "file capabilities", user=NOBODY)

    def test_what_is_ours_may_be_missing(self):
        home = self.folder / "opt"
        for missing, reason in (
                (None, "files in"), ("lib/libspanprof.so", "it is missing"),
                ("libexec/spanprof/spanprof-exporter", "No such file"),
                ("libexec/spanprof/spanprof-supervisor", "is missing")):
            with self.subTest(missing):
                shutil.rmtree(home, ignore_errors=True)
                wrapper = installation(home)
                if missing:
                    (home / missing).unlink()
                command = [run.PYTHON, "-c", BURN.format(0.3) + "print('ran')"]
                status, out, lines = self.call(command, wrapper=wrapper)
                self.assertEqual((status, out), (0, b"ran\n"))
                self.assertIn(reason, "\n".join(lines))
                if missing:
                    self.assertIn("without being profiled", "\n".join(lines))
                self.assertEqual((self.folder / "p").exists(), not missing)
                shutil.rmtree(self.folder / "p", ignore_errors=True)

    def test_a_path_that_the_loader_would_split(self):
        for name in ("a folder", "a:folder", "a$LIB"):
            wrapper = installation(self.folder / name)
            status, out, lines = self.call(["/bin/echo", "ran"],
                                           wrapper=wrapper)
            self.assertEqual((status, out), (0, b"ran\n"))
            self.assertIn("install it elsewhere", lines[0])

    def test_a_link_to_the_wrapper_finds_its_home(self):
        wrapper = installation(self.folder / "opt")
        link = self.folder / "spanprof-run"
        link.symlink_to(wrapper)
        status, _, lines = self.call([run.PYTHON, "-c", BURN.format(0.3)],
                                     wrapper=link)
        self.assertEqual(status, 0)
        self.assertIn("files in", "\n".join(lines))


def installation(home):
    """As `make install` lays it out, at any place."""
    for path, source in (("bin/spanprof-run", run.WRAPPER),
                         ("bin/spanprof", run.REPORT),
                         ("lib/libspanprof.so", run.PRELOAD),
                         ("libexec/spanprof/spanprof-exporter", run.EXPORTER),
                         ("libexec/spanprof/spanprof-supervisor",
                          run.BUILD / "spanprof-supervisor")):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, home / path)
    return home / "bin" / "spanprof-run"


class NotRunTest(Case):
    """Status and reason as env(1), and what to do."""

    def check(self, program, status, reason):
        got, out, lines = self.call([program])
        self.assertEqual((got, out), (status, b""))
        self.assertEqual(len(lines), 1)
        self.assertIn(reason, lines[0])
        env = subprocess.run(["env", str(program)], cwd=self.folder,
                             stderr=subprocess.DEVNULL)
        self.assertEqual(env.returncode, status)
        self.assertEqual(self.call([program], ["-q"])[2], lines)
        self.assertEqual(self.call([program], ["--exec"])[::2],
                         (status, lines))

    def test_what_is_not_there(self):
        self.check("no-such-program", 127, "not found in PATH")
        self.check("./no-such-program", 127, "not found")

    def test_what_is_no_program(self):
        (self.folder / "file").write_text("")
        self.check("./file", 126, "chmod +x")
        self.check("/proc", 126, "is a folder")

    def test_what_has_no_interpreter(self):
        script = self.folder / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        self.check(script, 127, "needs /no/such/interpreter")

    def test_what_has_no_loader(self):
        program = self.compile("gcc", "-Wl,--dynamic-linker=/no/such/ld.so")
        self.check_missing_loader(program)

    def check_missing_loader(self, program):
        status, _, lines = self.call([program])
        self.assertEqual(status, 127)
        self.assertIn("needs /no/such/ld.so, which is missing", lines[-1])

    def test_what_must_not_run_where_it_is(self):
        if os.geteuid() != 0:
            run.skip("needs root")
        mounted = self.folder / "mounted"
        mounted.mkdir()
        script = f"mount -t tmpfs -o noexec none {mounted} && " \
            f"cp /bin/true {mounted} && exec {run.WRAPPER} {mounted}/true"
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script],
                              stderr=subprocess.PIPE, env=environment(),
                              cwd=self.folder)
        self.assertEqual(done.returncode, 126)
        self.assertIn(b"mounted noexec", done.stderr)


class ExecTest(Case):

    def test_the_program_is_the_same_process(self):
        process = subprocess.Popen(
            [str(run.WRAPPER), "--exec", "-o", str(self.folder / "p"),
             run.PYTHON, "-c", "import os\nprint(os.getpid(), os.getppid())\n"
             + BURN.format(0.3)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment())
        out, err = process.communicate(timeout=60)
        self.assertEqual(out.split(),
                         [b"%d" % process.pid, b"%d" % os.getpid()])
        self.assertEqual(err, b"")
        run.wait_for(lambda: list((self.folder / "p").glob("*.pb.gz")),
                     "the profile of the detached exporter")
        run.wait_for(lambda: not run.exporters_about(self.folder),
                     "its end")

    def test_each_run_has_an_exporter_of_its_own(self):
        script = "import os; print(os.environ['SPANPROF_RUN'])"
        runs = {self.call([run.PYTHON, "-c", script], ["--exec"])[1]
                for _ in range(2)}
        run.wait_for(lambda: not run.exporters_about(self.folder),
                     "the exporters' end")
        self.assertEqual(len(runs), 2)


class SummaryTest(Case):

    def serve(self, options=(), env=None, count=8, output=True):
        """A server that answered requests, under the wrapper."""
        rng = random.Random(5)
        argv = [run.server("burn"), "--threads=2",
                f"--log={self.folder / 'log'}"]
        folder = self.folder / "p" if output else None
        with run.Program(argv, output=folder, env=environment(**(env or {})),
                         cwd=self.folder, wrapper_options=options) as program:
            if count:
                client.run(program.port(), [
                    [burn.request(rng, 40000) for _ in range(count)]])
            else:
                program.port()
            self.assertEqual(program.stop(signal.SIGTERM), 0)
            lines = program.stderr.splitlines()
        self.assertLessEqual(len(lines), LINES)
        for line in lines:
            self.assertTrue(line.startswith("spanprof: "), line)
            self.assertLessEqual(len(line), COLUMNS, line)
        return lines

    def paste(self, lines):
        """Runs what is printed to be run."""
        commands = [line.split("next: ", 1)[1] for line in lines
                    if "next: " in line]
        self.assertEqual(len(commands), 1)
        done = subprocess.run(commands[0], shell=True, cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return commands[0], done.stdout.decode()

    def test_it_tells_what_the_files_tell(self):
        lines = self.serve()
        text = "\n".join(lines)
        output = profile.read(self.folder / "p")
        taken = sum(1 for sample in output.samples)
        self.assertGreater(taken, 0)
        self.assertRegex(lines[0], r"^spanprof: \d+ samples, .* CPU time, "
                         r"[\d.]+ % of it in 8 requests$")
        share = float(lines[0].split(" CPU time, ")[1].split()[0])
        labelled = sum(s.cpu_ns for s in output.samples if s.span_id)
        total = sum(s.cpu_ns for s in output.samples)
        self.assertAlmostEqual(share, 100 * labelled / total, delta=0.1)
        slowest = max(output.spans, key=lambda s: s.end_ns - s.start_ns)
        self.assertIn(f"slowest {slowest.span_id}: ", text)
        self.assertRegex(text, r"\(\d+ samples, ± [\d.]+ ms\)")
        self.assertIn("of profiles", text)
        self.assertRegex(text, r"REQUESTS +P50 +P95 +OPERATION")
        command, shown = self.paste(lines)
        self.assertIn(f" show {slowest.span_id} ", command)
        self.assertIn(slowest.span_id, shown)

    def test_without_requests_it_points_to_the_functions(self):
        _, _, lines = self.call([run.PYTHON, "-c", BURN.format(0.3)])
        self.assertIn("spanprof: no HTTP/1 request was seen on an accepted "
                      "connection", lines)
        command, shown = self.paste(lines)
        self.assertIn(" top ", command)
        self.assertIn("samples", shown)

    def test_a_folder_of_any_name_can_be_pasted(self):
        name = "it's a $(folder) \u00fc"
        _, _, lines = call(["-o", name, run.PYTHON, "-c", BURN.format(0.3)],
                           cwd=self.folder)
        self.paste(lines)

    def test_without_samples_it_says_why(self):
        _, _, lines = self.call(["env", "-u", "LD_PRELOAD", "true"])
        self.assertTrue(lines)
        program = self.compile("gcc", "-static")
        _, _, lines = self.call([program])
        self.assertIn("no process of the program loaded libspanprof.so",
                      "\n".join(lines))

    def test_pushes_are_told_by_their_result(self):
        with Recorder() as server:
            server.script = [Answer(400)]
            address = server.url.replace("//", "//someone:geheim@")
            lines = self.serve(["--server", address], output=False)
            text = "\n".join(lines)
            self.assertIn("pushes: 1 refused", text)
            self.assertNotIn("geheim", text)
            lines = self.serve(["--server", address], output=False)
            self.assertIn("spanprof: pushes: 1 delivered", lines)
            self.assertNotIn("next: ", "\n".join(lines))

    def test_quiet_is_silent(self):
        self.assertEqual(self.serve(["-q"]), [])

    def test_what_cannot_be_written_is_told(self):
        (self.folder / "file").write_text("")
        _, _, lines = call([run.PYTHON, "-c", BURN.format(0.3)],
                           cwd=self.folder,
                           env={"SPANPROF_OUTPUT": "file/below"})
        self.assertIn("cannot write profiles to file/below", lines[0])
        self.assertIn("1 not written", "\n".join(lines))

    def test_names_from_the_program_drive_no_terminal(self):
        rng = random.Random(6)
        argv = [run.server("burn"), f"--log={self.folder / 'log'}"]
        request = burn.request(rng, 40000)
        request.path += "?\x1b[2J\x9b"
        with run.Program(argv, output=self.folder / "p") as program:
            client.run(program.port(), [[request]])
            program.stop()
            self.assertNotRegex(program.stderr, r"[^\n -~\u00a0-\uffff]")

    def test_stderr_may_be_closed_full_or_gone(self):
        command = f"{run.WRAPPER} -o p {run.PYTHON} -c " \
            f"'{BURN.format(0.2)}print(\"ran\")'"
        for way in ("2>&-", "2>/dev/full", "2>&1 >&3 | true", ">&3 2>&- <&-"):
            with self.subTest(way):
                read, write = os.pipe()
                done = subprocess.run(
                    ["bash", "-o", "pipefail", "-c",
                     f"exec 3>&{write}; {command} {way}"],
                    stdout=write, env=environment(), cwd=self.folder,
                    pass_fds=[write])
                os.close(write)
                with os.fdopen(read, "rb") as output:
                    self.assertEqual((done.returncode, output.read()),
                                     (0, b"ran\n"))
                self.assertTrue(list((self.folder / "p").glob("*.pb.gz")))
                shutil.rmtree(self.folder / "p")


if __name__ == "__main__":
    unittest.main()
