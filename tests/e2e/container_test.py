#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An image that holds nothing but a shell, a program and /opt/spanprof: any
user, a read-only root, process 1. Where we can't work, the original entrypoint
runs without us.

The image is a folder; unshare(1) and chroot(1) make it what a container runtime
would."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, profile, run  # noqa: E402

HOME = "/opt/spanprof"
ENTRYPOINT = f"{HOME}/bin/container-entrypoint"
USER = "4321:4321"      # of no passwd, in an image without one
SPIN = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; "

# $1: the image; $2: its user; the rest: the command. /out alone is writable.
ENTER = """
image=$1 user=$2
shift 2
mount --bind "$image" "$image"
mount --bind "$image/out" "$image/out"
mount -t proc proc "$image/proc"
mount -o remount,bind,ro "$image"
exec env -i "$@"
""".strip()


def glibc_files(*programs):
    """The files that the loader maps for these, and the loader."""
    listed = subprocess.run(["ldd", *programs], stdout=subprocess.PIPE,
                            check=True, text=True).stdout
    return {word for word in listed.split() if word.startswith("/")
            and not word.endswith(":")}


class Image:
    """A root folder with /bin/sh and, if wanted, glibc and our bundle."""

    def __init__(self, folder, shell="/bin/dash", libraries=True, ours=True):
        self.root = folder
        for name in ("bin", "srv", "proc", "dev", "out"):
            (self.root / name).mkdir(parents=True)
        (self.root / "out").chmod(0o777)
        shutil.copy(shell, self.root / "bin" / "sh")
        shutil.copy(run.server("burn"), self.root / "srv" / "burn")
        if ours:
            shutil.copytree(bundle(), self.root / "opt", symlinks=True)
        if libraries:
            for file in glibc_files(shell, run.server("burn"), run.PRELOAD):
                target = self.root / file.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)

    def command(self, *arguments, user=USER, env=()):
        settings = ["PATH=/bin:/usr/bin:/usr/sbin", *env]
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh",
                "-ec", ENTER, "sh", str(self.root), user, *settings,
                "chroot", f"--userspec={user}", str(self.root), *arguments]

    def run(self, *arguments, entrypoint=(ENTRYPOINT,), **more):
        done = subprocess.run(self.command(*entrypoint, *arguments, **more),
                              stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return (done.returncode, done.stdout.decode(),
                done.stderr.decode().splitlines())


_bundle = None


def bundle():
    """The folder opt of `make bundle`, made once."""
    global _bundle
    if not _bundle:
        _bundle = pathlib.Path(tempfile.mkdtemp(prefix="spanprof-test-"))
        subprocess.run(["make", "-s", "-C", str(run.ROOT), "bundle",
                        f"DESTDIR={_bundle}", f"B={run.BUILD}"], check=True,
                       stdout=subprocess.DEVNULL)
    return _bundle / "opt"


def tearDownModule():
    if _bundle:
        shutil.rmtree(_bundle)


class ContainerTest(unittest.TestCase):

    def setUp(self):
        if os.geteuid() != 0:
            run.skip("needs root, to make a container")
        folder = run.temporary_folder(public=True)
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__, None, None, None)

    def image(self, **more):
        return Image(self.folder / "image", **more)

    def profiled(self, image):
        return profile.read(image.root / "out" / "p")

    def test_a_program_is_profiled_in_an_image_without_anything(self):
        image = self.image()
        status, out, lines = image.run(
            "/bin/sh", "-c", SPIN + "echo ran; exit 7",
            env=["SPANPROF_OUTPUT=/out/p"])
        self.assertEqual((status, out), (7, "ran\n"))
        self.assertRegex(lines[0], r"^spanprof: \d+ samples")
        self.assertGreater(len(self.profiled(image).samples), 0)

    def test_the_printed_command_runs_there(self):
        image = self.image()
        _, _, lines = image.run("/bin/sh", "-c", SPIN,
                                env=["SPANPROF_OUTPUT=/out/p"])
        command = lines[-1].split("next: ")[1]
        status, out, errors = image.run("-c", command,
                                        entrypoint=("/bin/sh",))
        self.assertEqual((status, errors), (0, []))
        self.assertIn("samples", out)

    def test_requests_of_a_server_in_it_are_found(self):
        """The network is the test's own."""
        image = self.image()
        command = image.command(ENTRYPOINT, "/srv/burn", "--threads=2",
                                "--log=/out/log", env=["SPANPROF_OUTPUT=/out/p",
                                                       "SPANPROF_SERVICE=b"])
        with run.Program(command, how="plain") as program:
            rng = random.Random(3)
            client.run(program.port(),
                       [[burn.request(rng, 40000) for _ in range(6)]])
            supervisor = self.find_supervisor(program.process.pid)
            os.kill(supervisor, signal.SIGTERM)
            self.assertEqual(program.wait(), 0)
            self.assertIn("of it in 6 requests", program.stderr)
        output = self.profiled(image)
        self.assertEqual(len(output.spans), 6)
        labelled = sum(s.cpu_ns for s in output.samples if s.span_id)
        self.assertGreater(labelled, 0.9 * 6 * 40e6)

    def find_supervisor(self, pid):
        """Process 1 of the container, seen from here."""
        def find():
            first = run.children(pid)
            return first and run.executable(first[0]).endswith(
                "/spanprof-supervisor") and first[0]
        return run.wait_for(find, "the supervisor")

    def test_process_one_reaps_what_others_leave(self):
        image = self.image()
        script = "(/bin/sh -c 'exit 0' &) ; " + SPIN + \
            "for f in /proc/[0-9]*/stat; do read -r pid name state rest <$f;" \
            " [ $state != Z ] || echo zombie; done"
        status, out, _ = image.run("/bin/sh", "-c", script,
                                   env=["SPANPROF_OUTPUT=/out/p"])
        self.assertEqual((status, out), (0, ""))

    def test_death_by_a_signal_is_128_and_its_number(self):
        status, _, _ = self.image().run(
            "/bin/sh", "-c", "kill -TERM $$", env=["SPANPROF_OUTPUT=/out/p"])
        self.assertEqual(status, 128 + signal.SIGTERM)

    def test_what_a_killed_program_left_is_written(self):
        image = self.image()
        status, _, lines = image.run("/bin/sh", "-c", SPIN + "kill -KILL $$",
                                     env=["SPANPROF_OUTPUT=/out/p"])
        self.assertEqual(status, 128 + signal.SIGKILL)
        self.assertRegex(lines[0], r"^spanprof: \d+ samples")
        self.assertGreater(len(self.profiled(image).samples), 0)

    def test_nowhere_to_write_is_told(self):
        status, out, lines = self.image().run("/bin/sh", "-c", SPIN +
                                              "echo ran")
        self.assertEqual((status, out), (0, "ran\n"))
        self.assertIn("cannot write profiles to spanprof.out", lines[0])
        self.assertEqual(lines[1], "spanprof: set SPANPROF_OUTPUT to a folder,"
                         " or SPANPROF_SERVER")

    def check_falls_open(self, image, reason, shell="/bin/sh"):
        status, out, lines = image.run(shell, "-c", "echo ran; exit 9",
                                       env=["SPANPROF_OUTPUT=/out/p"])
        self.assertEqual((status, out), (9, "ran\n"))
        self.assertIn(reason, lines[0])
        self.assertIn("without being profiled", lines[1])
        quiet = image.run(shell, "-c", "echo ran; exit 9",
                          env=["SPANPROF_QUIET=1"])
        self.assertEqual(quiet, (9, "ran\n", []))

    def test_what_is_missing_of_ours_harms_nothing(self):
        image = self.image()
        for name in ("bin/spanprof-run",
                     "libexec/spanprof/spanprof-supervisor",
                     "lib/libspanprof.so"):
            (image.root / HOME[1:] / name).unlink()
            self.check_falls_open(image, f"{HOME}/{name} cannot be read")

    def test_an_exporter_without_its_libraries_harms_nothing(self):
        image = self.image()
        shutil.rmtree(image.root / HOME[1:] / "libexec/spanprof/bundle")
        status, out, lines = image.run("/bin/sh", "-c", "echo ran; exit 9",
                                       env=["SPANPROF_OUTPUT=/out/p"])
        self.assertEqual((status, out), (9, "ran\n"))
        self.assertIn("the exporter left no summary", lines[0])

    def test_a_loader_that_refuses_the_library_harms_nothing(self):
        image = self.image()
        (image.root / HOME[1:] / "lib" / "libspanprof.so").write_bytes(
            b"\x7fELF but no more")
        self.check_falls_open(image, "libspanprof.so")

    def test_an_image_of_another_libc(self):
        compiler, = run.need("musl-gcc")
        source = self.folder / "sh.c"
        # A shell as far as the test goes.
        source.write_text("#include <unistd.h>\nint main(void)"
                          "{ write(1, \"ran\\n\", 4); return 9; }\n")
        busybox, = run.need("busybox")
        image = self.image(shell=busybox, libraries=False)
        subprocess.run([compiler, "-o", str(image.root / "srv" / "program"),
                        str(source)], check=True)
        (image.root / "lib").mkdir()
        shutil.copy("/lib/x86_64-linux-musl/libc.so",
                    image.root / "lib" / "ld-musl-x86_64.so.1")
        status, out, lines = image.run("/srv/program",
                                       env=["SPANPROF_OUTPUT=/out/p"])
        self.assertEqual((status, out), (9, "ran\n"))
        self.assertIn("another C library than glibc", lines[0])

    def test_without_a_program_it_says_how_it_is_used(self):
        status, _, lines = self.image().run()
        self.assertEqual(status, 125)
        self.assertIn("ENTRYPOINT", lines[1])

    def test_without_the_wrapper_the_library_finds_its_exporter(self):
        """ENV LD_PRELOAD alone; the container must outlive the exporter."""
        image = self.image()
        script = f"export LD_PRELOAD={HOME}/lib/libspanprof.so; /bin/sh -c " \
            f"'{SPIN}'; until ls=$(echo /out/p/*.gz) && " \
            f"[ -e \"${{ls%% *}}\" ]; do {SPIN} done; echo ran"
        status, out, lines = image.run(
            "-c", script, entrypoint=("/bin/sh",),
            env=["SPANPROF_OUTPUT=/out/p", "SPANPROF_INTERVAL=1s"])
        self.assertEqual((status, out, lines), (0, "ran\n", []))

    def test_a_detached_exporter_keeps_no_stream_where_there_are_no_devices(
            self):
        """The pipe ends with the program, and the exporter is still there."""
        script = f"x=$(export LD_PRELOAD={HOME}/lib/libspanprof.so; /bin/sh " \
            f"-c '{SPIN}'); for f in /proc/[0-9]*/cmdline; do read -r line " \
            "<$f; case $line in *spanprof-e[x]porter*) echo alive ;; esac; done"
        _, out, _ = self.image().run("-c", script, entrypoint=("/bin/sh",),
                                     env=["SPANPROF_OUTPUT=/out/p"])
        self.assertEqual(set(out.split()), {"alive"})  # and its keeper


if __name__ == "__main__":
    unittest.main()
