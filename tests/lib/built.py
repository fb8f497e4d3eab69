# SPDX-License-Identifier: Apache-2.0
"""Programs for the tests of names, built while these run."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import run  # noqa: E402

SERVERS = run.ROOT / "tests" / "servers"
SOURCES = SERVERS / "names"
BLOCKSTORE = [*sorted(SERVERS.glob("blockstore*.c")), SERVERS / "http.c",
              SERVERS / "service.c"]


def c(folder, name, *flags, sources=None):
    """The demonstration's server, or other C."""
    path = folder / name
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", f"-I{run.ROOT}",
                    "-O2", "-g", *flags, "-o", path,
                    *(sources or BLOCKSTORE), "-lpthread"], check=True)
    return path


def cpp(folder, name, *flags, compiler="g++"):
    path = folder / name
    subprocess.run([compiler, "-O2", "-g", *flags, "-o", path,
                    SOURCES / "sorting.cc"], check=True)
    return path


def rust(folder, name, *flags):
    path = folder / name
    run.need("rustc")
    subprocess.run(["rustc", "-O", "-g", *flags, "-o", path,
                    SOURCES / "counting.rs"], check=True)
    return path


def objcopy(*arguments):
    subprocess.run(["objcopy", *map(str, arguments)], check=True)


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return text.split("Build ID: ")[1].split()[0]
