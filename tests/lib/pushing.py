# SPDX-License-Identifier: Apache-2.0
"""Runs the driver that pushes made-up windows (tests/drivers/pushing.c)."""
import dataclasses
import os
import re
import subprocess

from lib import run

TOTALS = re.compile(r"pushed (\d+) profiles, (\d+) tries more; lost: (\d+) "
                    r"refused, (\d+) after too many tries, (\d+) too old, "
                    r"(\d+) for lack of room, (\d+) at the end")
LEFT_OUT = ("SPANPROF_", "PYROSCOPE_", "OTEL_", "SSL_CERT_")
US = 1000


@dataclasses.dataclass
class Pushed:
    """What became of the profiles, as the exporter counts it."""
    sent: int
    retried: int
    refused: int
    tired: int
    old: int
    full: int
    end: int
    log: str = ""       # without the line of the totals

    @property
    def lost(self):
        return self.refused + self.tired + self.old + self.full + self.end


def push(url, profiles=1, samples=1, wait_s=5, env=None):
    """Pushes so many profiles; profile i (from 1) has so many samples of i us
    under span i. Waits up to wait_s before the end, which has its own bound."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(LEFT_OUT) and
                   not name.lower().endswith("_proxy")}
    with run.temporary_folder() as folder:
        log = folder / "log"
        environment.update({"SPANPROF_SERVER": url, "SPANPROF_LOG": str(log),
                            "SPANPROF_LOG_LEVEL": "debug", **(env or {})})
        subprocess.run([str(run.BUILD / "drivers" / "pushing"), str(profiles),
                        str(samples), str(int(wait_s * 1000))], check=True,
                       env=environment, stdout=subprocess.DEVNULL,
                       timeout=run.PATIENCE_S)
        lines = log.read_text().splitlines(keepends=True)
    totals = TOTALS.search(lines[-1])
    return Pushed(*map(int, totals.groups()), log="".join(lines[:-1]))


def times_kept(server, profiles, samples=1):
    """How often each profile is in what a recorder has kept."""
    sums = dict.fromkeys(range(1, profiles + 1), 0)
    for sample in server.samples:
        sums[int(sample.span_id, 16)] += sample.cpu_ns
    return [ns / (number * US * samples) for number, ns in sums.items()]
