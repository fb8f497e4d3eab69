#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether secrets stay where they belong: nowhere but in what is sent to the
server, and in the environment where the user put them."""
import base64
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import run  # noqa: E402
from lib.recorder import Answer, Recorder  # noqa: E402
from lib.served import Served, requests  # noqa: E402

USER, WORD, TOKEN, KEY = "carol", "pa55-w0rd", "t0k3n-abcd", "k3y-1234"
BASIC = "Basic " + base64.b64encode(f"{USER}:{WORD}".encode()).decode()
SECRETS = [text.encode() for text in (WORD, "pa55%2Dw0rd", TOKEN, KEY,
                                      BASIC.split()[1])]
IN_URL = f"://{USER}:pa55%2Dw0rd@"
HEADERS = f'{{"X-Key": "{KEY}"}}'
EVERYTHING = {"PYROSCOPE_BASIC_AUTH_USER": USER,
              "PYROSCOPE_BASIC_AUTH_PASSWORD": WORD,
              "PYROSCOPE_AUTH_TOKEN": TOKEN, "PYROSCOPE_HTTP_HEADERS": HEADERS}
NOBODY = 65534


def our_processes(program):
    return [program.process.pid, *program.survivors()]


def named(program, name):
    found = [pid for pid in our_processes(program)
             if pathlib.Path(run.executable(pid)).name == name]
    if len(found) != 1:
        raise run.Failed(f"{len(found)} processes are {name}")
    return found[0]


@contextlib.contextmanager
def cores_allowed():
    """As with `ulimit -c unlimited`, for what is started within."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)


class SecretsTest(unittest.TestCase):

    def check_texts(self, texts):
        for text in texts:
            for secret in SECRETS:
                self.assertNotIn(secret, text)

    def look(self, program, folder):
        """At the command lines of the program's processes, while they run."""
        self.lines = [run._read(f"/proc/{pid}/cmdline")
                      for pid in our_processes(program)]
        self.assertTrue(any(line.startswith(b"spanprof-exporter")
                            for line in self.lines))

    def check(self, server, env, **more):
        served = Served(server, env, requests=requests(9, 2), files=True,
                        while_running=self.look, **more)
        self.check_texts([served.log.encode(), *self.lines,
                          served.stderr.encode(), *served.contents])
        self.check_texts(push.profile for push in server.pushes)
        return served

    def test_each_way_to_prove_who_one_is(self):
        bearer = {"PYROSCOPE_AUTH_TOKEN": TOKEN,
                  "PYROSCOPE_HTTP_HEADERS": HEADERS}
        own = {**bearer, "PYROSCOPE_HTTP_HEADERS":
               f'{{"authorization": "Own {KEY}"}}'}
        for expected, env in ((BASIC, EVERYTHING),
                              (f"Bearer {TOKEN}", bearer),
                              (f"Own {KEY}", own),
                              (BASIC, {"SPANPROF_SERVER": "in the URL"})):
            with self.subTest(expected=expected, env=sorted(env)), \
                    Recorder(authorization=expected) as server:
                if "SPANPROF_SERVER" in env:
                    env["SPANPROF_SERVER"] = server.url.replace("://", IN_URL)
                self.check(server, env)
                self.assertTrue(server.pushes)

    def test_the_wrapper_s_own_line_is_gone(self):
        with Recorder(authorization=BASIC) as server:
            self.check(server, {}, arguments=(
                "--server", server.url.replace("://", IN_URL)))
            self.assertTrue(server.pushes)

    def test_each_failure_is_told_without_them(self):
        class Nobody:
            pushes = []
            url = f"http{IN_URL}127.0.0.1:{run.free_port()}"
        served = self.check(Nobody, EVERYTHING)
        self.assertIn("check SPANPROF_SERVER", served.log)
        for answer in (Answer(401), Answer(503), Answer(fault="close"),
                       Answer(302, {"Location": f"http{IN_URL}else/"}),
                       Answer(raw=b"HTTP/1.1 200 " + TOKEN.encode())):
            with self.subTest(answer=answer), Recorder() as server:
                server.always = answer
                self.check(server, EVERYTHING)

    def test_a_server_that_sends_a_secret_back_is_not_quoted(self):
        body = (f'{{"code": "x{TOKEN}", "message": "you sent '
                f'Bearer {TOKEN}, {KEY}"}}').encode()
        with Recorder() as server:
            server.always = Answer(403, body=body)
            served = self.check(server, {"PYROSCOPE_AUTH_TOKEN": TOKEN,
                                         "PYROSCOPE_HTTP_HEADERS": HEADERS})
            self.assertIn("you sent", served.log)
            self.assertIn("****", served.log)

    def test_a_refused_url_is_not_shown(self):
        with Recorder() as server:
            served = self.check(server, {
                "SPANPROF_SERVER": f"ftp://{USER}:{WORD}@host"})
            self.assertIn("SPANPROF_SERVER", served.log)


class CoreTest(unittest.TestCase):

    def test_the_exporter_leaves_no_core(self):
        """Neither a file nor anything for a pipe: it isn't dumpable."""
        found = []

        def kill(program, folder):
            # The exporter's own folder is the root.
            before = set(pathlib.Path("/").glob("core*"))
            exporter = named(program, "spanprof-exporter")
            limits = run._read(f"/proc/{exporter}/limits").decode()
            self.assertRegex(limits, r"Max core file size +0 +0 ")
            os.kill(exporter, signal.SIGABRT)
            run.wait_for(lambda: not run.is_alive(exporter), "its end")
            found.extend(set(pathlib.Path("/").glob("core*")) - before)
            found.extend(folder.glob("core*"))

        with cores_allowed(), Recorder() as server:
            served = Served(server, EVERYTHING, requests=requests(1, 1),
                            while_running=kill)
        self.assertEqual(found, [])
        self.assertEqual([name for name in served.files
                          if name.startswith("core")], [])

    def secrets_in_core(self, how, folder):
        """How often secrets are in the core of a program that aborts, having
        served."""
        script = "import os, time\n" \
            "end = time.process_time() + 0.3\n" \
            "while time.process_time() < end: pass\nos.abort()"
        with cores_allowed(), Recorder() as server, run.Program(
                [run.PYTHON, "-c", script], how=how, cwd=folder,
                env={**EVERYTHING, "SPANPROF_SERVER": server.url}) as program:
            self.assertEqual(program.wait(), -signal.SIGABRT)
        core, = folder.glob("core*")
        content = core.read_bytes()
        return sum(content.count(secret) for secret in SECRETS)

    def test_the_program_s_core_has_no_more_of_them_than_without_us(self):
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text()
        if not pattern.startswith("core"):
            run.skip("cores go elsewhere")
        counts = {}
        for how in ("plain", "run", "preload"):
            with run.temporary_folder() as folder:
                counts[how] = self.secrets_in_core(how, folder)
        self.assertGreater(counts["plain"], 0)
        self.assertLessEqual(counts["run"], counts["plain"], counts)
        self.assertLessEqual(counts["preload"], counts["plain"], counts)


class ChildrenTest(unittest.TestCase):

    def environment_of_child(self, how, env, options=()):
        script = "import subprocess; print(subprocess.run(['/usr/bin/env', " \
            "'-0'], stdout=subprocess.PIPE, check=True).stdout.hex())"
        with run.temporary_folder() as folder, run.Program(
                [run.PYTHON, "-c", script], how=how, env=env, cwd=folder,
                wrapper_options=options) as program:
            self.assertEqual(program.wait(), 0)
            entries = bytes.fromhex(program.stdout).split(b"\0")
            return dict(entry.split(b"=", 1) for entry in entries if entry)

    def test_a_child_inherits_what_the_user_set_and_no_other_secret(self):
        """The wrapper's options reach the agent by the environment; nothing
        else of ours does but its own mark."""
        with Recorder() as server:
            env = {**EVERYTHING, "SPANPROF_SERVER": server.url}
            plain = self.environment_of_child("plain", env)
            ours = self.environment_of_child("run", env)
        changed = {name for name in ours if ours[name] != plain.get(name)}
        # A shell sets the last two.
        changed -= {run.MARK.encode(), b"_", b"PWD"}
        self.assertLessEqual(changed, {b"LD_PRELOAD", b"SPANPROF_RUN"})
        self.assertEqual(set(plain) - set(ours), set())


class SecureTest(unittest.TestCase):
    """A program that runs with more rights than its caller takes no orders from
    the caller's environment. It is linked with the library: the loader itself
    drops a preload."""

    SOURCE = "int main(void) { for (volatile unsigned long i = 0; " \
        "i < 400000000ul; i++) ; return 0; }"

    def make(self, folder):
        library = run.PRELOAD
        for path in (library, run.EXPORTER):
            shutil.copy(path, folder)
        source = folder / "program.c"
        source.write_text(self.SOURCE)
        program = folder / "program"
        subprocess.run(["gcc", "-o", program, source, "-Wl,--no-as-needed",
                        f"-L{folder}", "-l:libspanprof.so",
                        f"-Wl,-rpath,{folder}"], check=True)
        return program

    def run_as_nobody(self, program, folder):
        """What it left behind."""
        work = pathlib.Path(folder) / "work"
        work.mkdir()
        os.chown(work, NOBODY, NOBODY)
        output, log = work / "profiles", work / "log"
        done = subprocess.run([program], user=NOBODY, group=NOBODY,
                              extra_groups=[], cwd=work,
                              stderr=subprocess.PIPE, env={
                                  "SPANPROF_OUTPUT": str(output),
                                  "SPANPROF_LOG": str(log),
                                  "SPANPROF_LOG_LEVEL": "debug"})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        run.wait_for(lambda: not run.exporters_about(work), "the exporter")
        left = sorted(path.name for path in work.iterdir())
        shutil.rmtree(work)
        return left

    def test_a_set_user_id_program_is_left_alone(self):
        with run.temporary_folder(public=True) as folder:
            program = self.make(folder)
            self.assertEqual(self.run_as_nobody(program, folder),
                             ["log", "profiles"])
            os.chmod(program, 0o4755)
            self.assertEqual(self.run_as_nobody(program, folder), [])


if __name__ == "__main__":
    unittest.main()
