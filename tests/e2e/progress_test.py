#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What spanprof-run shows on a terminal while the program runs, and that it
shows it nowhere else."""
import os
import pathlib
import pty
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import run  # noqa: E402

REWRITE = b"\r\x1b[K"
# Long enough for two lines of progress.
SLEEP = "import time; time.sleep(2.5); print('ran')"


def read_all(terminal):
    """What was written to a terminal whose other end is closed by now."""
    text = b""
    try:
        while piece := os.read(terminal, 4096):
            text += piece
    except OSError:
        pass
    return text


class ProgressTest(unittest.TestCase):

    def setUp(self):
        folder = run.temporary_folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__, None, None, None)

    def show(self, *options, term="xterm", stdout=subprocess.PIPE):
        """What a terminal shows, and what the program wrote; a terminal as
        stdout is the same one."""
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("SPANPROF_", "LD_"))}
        env["TERM"] = term
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [str(run.WRAPPER), *options, "-o", "p", run.PYTHON, "-c", SLEEP],
            env=env, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=theirs if stdout is None else stdout, stderr=theirs)
        os.close(theirs)
        shown = read_all(ours)
        written = process.communicate(timeout=60)[0]
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        return shown, written

    def test_it_is_shown_where_it_is_asked_for(self):
        shown, written = self.show("--progress")
        self.assertEqual(written, b"ran\n")
        pieces = shown.split(REWRITE)
        # The line, each second, and its removal.
        self.assertGreaterEqual(len(pieces), 3)
        for piece in pieces[1:-1]:
            self.assertRegex(piece, rb"^spanprof: \d+ s, \d+ samples, \d+ "
                             rb"requests, \d+ windows$")
        self.assertTrue(pieces[-1].startswith(b"spanprof: "))

    def test_a_terminal_is_told_where_the_data_go(self):
        shown, _ = self.show()
        first = shown.splitlines()[0]
        self.assertEqual(first, b"spanprof: profiles go to p every 10 s")
        self.assertNotIn(b"\x1b", shown)

    def test_it_never_mixes_with_the_programs_output(self):
        shown, _ = self.show("--progress", stdout=None)
        self.assertNotIn(b"\x1b", shown)
        self.assertIn(b"no progress is shown", shown)
        self.assertIn(b"\nran\r\n", shown)

    def test_a_dumb_terminal_gets_none(self):
        for term in ("dumb", ""):
            shown, _ = self.show("--progress", term=term)
            self.assertNotIn(b"\x1b", shown)

    def test_quiet_is_silent(self):
        self.assertEqual(self.show("--progress", "-q"), (b"", b"ran\n"))

    def test_a_pipe_gets_none(self):
        done = subprocess.run(
            [str(run.WRAPPER), "--progress", "-o", "p", run.PYTHON, "-c",
             SLEEP], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={"TERM": "xterm", **os.environ})
        self.assertEqual(done.stdout, b"ran\n")
        self.assertNotIn(b"\r", done.stderr)
        self.assertNotIn(b"every 10 s", done.stderr)


if __name__ == "__main__":
    unittest.main()
