# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the agent for the end-to-end tests.

A Program is started by spanprof-run, or with a bare LD_PRELOAD, or without the
agent; waited for; ended by SIGTERM to its own pid; and then waited for until
its exporter has written everything. What a test started never outlives it, and
nothing else is ever signalled: each process of ours bears a mark in its
environment or belongs to the program's session.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("SPANPROF_BUILD", "build")
PRELOAD = BUILD / "libspanprof.so"
EXPORTER = BUILD / "spanprof-exporter"
REPORT = BUILD / "spanprof"
WRAPPER = ROOT / "scripts" / "spanprof-run"
PYTHON = "/usr/bin/python3"

PATIENCE_S = 30
MARK = "TEST_RUN_MARK"


class Failed(Exception):
    """The program, or what should have come of it, is not as expected."""


def _built(path):
    if not path.exists():
        raise Failed(f"{path} isn't built")
    return str(path)


def server(name):
    """The path of a test server that the build made."""
    return _built(BUILD / "servers" / name)


def guest(name):
    """The path of a program of tests/guests."""
    return _built(BUILD / "guests" / name)


def skip(reason):
    """Skips a test; fails it instead where no skip is allowed."""
    if os.environ.get("SPANPROF_NO_SKIP") == "1":
        raise AssertionError(f"skips are forbidden here: {reason}")
    raise unittest.SkipTest(reason)


def need(*programs):
    """Skips the test when one of the programs isn't installed. Returns their
    paths."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/go/bin"
    found = [shutil.which(program, path=path) for program in programs]
    for program, where in zip(programs, found):
        if not where:
            skip(f"{program} isn't installed (scripts/install-deps --test)")
    return found


def wait_for(condition, what, patience_s=PATIENCE_S):
    """Returns the first true value of condition()."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed(f"waited {patience_s} s for {what}")
        time.sleep(0.01)


def _read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def _stat_fields(pid):
    """/proc/PID/stat from the state on (field 3 of proc(5)); [] when gone."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def is_alive(pid):
    fields = _stat_fields(pid)
    return bool(fields) and fields[0] not in (b"Z", b"X")


def _all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children(pid):
    """The children of all threads of a process."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in _read(task).split()]
    return found


def executable(pid):
    """The path of its executable, also when a new build has replaced it; "" for
    a process that has gone."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""


def exporters_about(folder):
    """Exporters whose environment names the folder."""
    wanted = str(folder).encode()
    return [pid for pid in _all_pids()
            if _read(f"/proc/{pid}/cmdline").startswith(b"spanprof-exporter")
            and wanted in _read(f"/proc/{pid}/environ")]


def is_listening(port):
    """Whether a TCP socket of this machine listens there. Looks only: a trial
    connection would be a connection that the program sees."""
    wanted = f":{port:04X}".encode()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in _read(table).splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(wanted) and fields[3] == b"0A":
                return True
    return False


def free_port():
    """A port that nobody uses; the kernel won't give it to others soon."""
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    """A program that runs. Use it as a context manager."""

    def __init__(self, argv, *, output=None, how="run", env=None, cwd=None,
                 wrapper_options=()):
        """`how` is "run" (spanprof-run), "preload" (LD_PRELOAD alone) or
        "plain" (no agent); `output` is the profiles' folder."""
        self.how = how
        self.argv = [str(a) for a in argv]
        self.output = output
        self.mark = uuid.uuid4().hex
        self.files = tempfile.TemporaryDirectory(prefix="spanprof-run-")
        self.stdout_path = pathlib.Path(self.files.name) / "stdout"
        self.stderr_path = pathlib.Path(self.files.name) / "stderr"
        self.status = None
        self._pid = None
        command, environment = self._command(env or {}, wrapper_options)
        with open(self.stdout_path, "wb") as out, \
                open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env=environment, cwd=cwd, start_new_session=True)

    def _command(self, extra, wrapper_options):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("SPANPROF_", "LD_", "OTEL_",
                                              "PYROSCOPE_"))}
        environment[MARK] = self.mark
        if self.output and self.how != "plain":
            environment["SPANPROF_OUTPUT"] = str(self.output)
        if self.how == "preload":
            environment["LD_PRELOAD"] = str(PRELOAD)
            # An exporter of this run's own, as the wrapper asks for one.
            environment["SPANPROF_RUN"] = self.mark
        environment.update(extra)
        if self.how != "run":
            return self.argv, environment
        options = list(wrapper_options)
        if self.output:
            options += ["--output", str(self.output)]
        return [str(WRAPPER), *options, "--", *self.argv], environment

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            left = self.end_everything()
        finally:
            self.files.cleanup()
        if left:
            raise Failed(f"processes were left: {left}")

    @property
    def stdout(self):
        return self.stdout_path.read_text(errors="replace")

    @property
    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def _check_alive(self):
        if self.process.poll() is not None:
            raise Failed(f"{self.argv[0]} ended with "
                         f"{self.process.returncode}: {self.stderr[-2000:]}")

    def pid(self):
        """The program's own pid: with spanprof-run, that of the supervisor's
        child that isn't the exporter."""
        if self.how != "run":
            return self.process.pid
        if self._pid:
            return self._pid

        def find():
            self._check_alive()
            # Before it becomes the supervisor, the wrapper is a shell that has
            # children of its own.
            first = os.path.basename(executable(self.process.pid))
            if first != "spanprof-supervisor":
                return None
            for child in children(self.process.pid):
                name = os.path.basename(executable(child))
                if name and not name.startswith("spanprof-"):
                    return child
            return None
        self._pid = wait_for(find, "the program's process")
        return self._pid

    def port(self):
        """The port that the program says it listens on."""
        def find():
            self._check_alive()
            for line in self.stdout.splitlines():
                if line.startswith("listening on 127.0.0.1:"):
                    return int(line.rsplit(":", 1)[1])
            return None
        return wait_for(find, "the line with the port")

    def wait_for_port(self, port):
        def find():
            self._check_alive()
            return is_listening(port)
        wait_for(find, f"port {port}")
        return port

    def wait(self, patience_s=PATIENCE_S):
        """Waits for the program's end and for its exporter's. Returns the
        exit status as the caller of the program sees it."""
        try:
            self.status = self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.argv[0]} didn't end: {self.stderr[-2000:]}")
        wait_for(lambda: not self.survivors(), "the exporter's end")
        return self.status

    def stop(self, signal_number=signal.SIGTERM):
        """Ends the program by a signal to its own pid and waits until the
        output folder is complete."""
        os.kill(self.pid(), signal_number)
        return self.wait()

    def survivors(self):
        """Processes of this run that are alive, apart from the first one."""
        mark = f"{MARK}={self.mark}".encode()
        session = str(self.process.pid).encode()
        found = []
        for pid in _all_pids():
            if pid in (os.getpid(), self.process.pid) or not is_alive(pid):
                continue
            fields = _stat_fields(pid)
            if (fields and fields[3] == session) or \
                    mark in _read(f"/proc/{pid}/environ").split(b"\0"):
                found.append(pid)
        return found

    def end_everything(self):
        """Kills what is still there. Returns what a stopped program should
        not have left."""
        stopped = self.process.poll() is not None
        left = [f"{pid} {executable(pid)}" for pid in self.survivors()]
        for pid in self.survivors():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not stopped:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        return left if stopped and self.status is not None else []


@contextlib.contextmanager
def temporary_folder(public=False):
    """A folder that is removed afterwards; public for servers that change
    their user."""
    folder = tempfile.mkdtemp(prefix="spanprof-test-")
    try:
        if public:
            os.chmod(folder, 0o755)
        yield pathlib.Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(*arguments, check=True):
    """The output of build/spanprof with these arguments."""
    done = subprocess.run([str(REPORT), *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=PATIENCE_S)
    if check and done.returncode != 0:
        raise Failed(f"spanprof {' '.join(map(str, arguments))}: "
                     f"{done.returncode}: {done.stderr}")
    return done.stdout
