#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long the spanprof command takes for 100 profiles of 16,000 samples: the
most that the exporter puts into one. Prints the best of three runs."""

import gzip
import importlib
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
BUILD = os.path.join(ROOT, os.environ.get("SPANPROF_BUILD", "build"))
FILES, SAMPLES, STACKS, SPANS, FUNCTIONS = 100, 16000, 3000, 1000, 2000
BOUND_S = 2.0


def make_profile(schema, chance):
    """One profile: random stacks of 10 to 40 frames, four labels a sample."""
    texts = [
        "",
        "samples",
        "count",
        "cpu",
        "nanoseconds",
        "span_id",
        "trace_id",
        "span_name",
        "pid",
        "GET",
    ]
    keys = {text: number for number, text in enumerate(texts)}
    profile = schema.Profile(time_nanos=1, duration_nanos=10**10, period=10**7)
    profile.sample_type.add(type=1, unit=2)
    profile.sample_type.add(type=3, unit=4)
    for number in range(1, FUNCTIONS + 1):
        profile.function.add(id=number, name=len(texts))
        texts.append("module::function_%d" % number)
        profile.location.add(id=number, address=number).line.add(
            function_id=number
        )
    first_span = len(texts)
    for _ in range(SPANS):
        texts.append("%016x" % chance.getrandbits(64))
        texts.append("%032x" % chance.getrandbits(128))
    stacks = [
        [
            chance.randrange(1, FUNCTIONS + 1)
            for _ in range(chance.randrange(10, 40))
        ]
        for _ in range(STACKS)
    ]
    for _ in range(SAMPLES):
        sample = profile.sample.add(
            location_id=chance.choice(stacks), value=[1, 10**7]
        )
        span = first_span + 2 * chance.randrange(SPANS)
        sample.label.add(key=keys["span_id"], str=span)
        sample.label.add(key=keys["trace_id"], str=span + 1)
        sample.label.add(key=keys["span_name"], str=keys["GET"])
        sample.label.add(key=keys["pid"], num=7)
    profile.string_table.extend(texts)
    return gzip.compress(profile.SerializeToString(), 6)


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                "protoc",
                "-I",
                ROOT,
                "--python_out",
                folder,
                os.path.join(ROOT, "exporter/profile.proto"),
            ],
            check=True,
        )
        sys.path.insert(0, folder)
        schema = importlib.import_module("exporter.profile_pb2")
        chance = random.Random(1)
        # Ten that differ, ten times: enough to defeat what is kept from
        # file to file.
        made = [make_profile(schema, chance) for _ in range(10)]
        for number in range(FILES):
            with open("%s/%03d.pb.gz" % (folder, number), "wb") as file:
                file.write(made[number % len(made)])
        best = None
        for _ in range(3):
            begin = time.monotonic()
            subprocess.run(
                [BUILD + "/spanprof", "top", folder],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            taken = time.monotonic() - begin
            best = taken if best is None else min(best, taken)
    print(
        "spanprof top, %d files of %d samples: %.2f s (meant: below %.1f s)"
        % (FILES, SAMPLES, best, BOUND_S)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
