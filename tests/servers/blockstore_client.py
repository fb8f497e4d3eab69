#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the demo's load to the block store: four tenants, each over its own
connection, 50 traced requests each, always the same ones.

Three tenants store blocks with the same few symbols again and again. The fourth
stores symbols that differ from block to block, as a build that numbers its
generated functions makes them.

usage: blockstore_client.py PORT
"""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import client  # noqa: E402

TENANTS = ("acme", "globex", "hooli", "initech")
REQUESTS_A_TENANT = 50
COMMON_SYMBOLS = [f"{module}.{verb}_{noun}"
                  for module in ("http", "json", "auth", "cache")
                  for verb in ("read", "write", "check")
                  for noun in ("request", "header", "token", "entry")]
GENERATED_SYMBOLS_A_BLOCK = 1300


def common_block(rng):
    """A block of a tenant whose code has a few functions."""
    return [(name, rng.randint(1, 1000)) for name in COMMON_SYMBOLS]


def generated_block(rng):
    """A block of a tenant whose code generator numbers its functions anew with
    each build."""
    build = f"{rng.getrandbits(32):08x}"
    return [(f"plan.stage_{rng.randint(0, 9999)}.eval_{build}_{n}",
             rng.randint(1, 1000)) for n in range(GENERATED_SYMBOLS_A_BLOCK)]


def body(block):
    return "".join(f"{name} {value}\n" for name, value in block).encode()


def requests_of(tenant, rng):
    """Three uploads, then a look at one of them, and so on."""
    make = generated_block if tenant == "initech" else common_block
    stored, requests = [], []
    for number in range(REQUESTS_A_TENANT):
        if number % 4 == 3:
            method, name, content = "GET", rng.choice(stored), b""
        else:
            method, name = "PUT", f"{rng.getrandbits(32):08x}"
            content = body(make(rng))
            stored.append(name)
        requests.append(client.Request(
            f"/tenants/{tenant}/blocks/{name}", method=method, body=content,
            traceparent=client.new_traceparent(rng)))
    return requests


def show_progress(done):
    total = REQUESTS_A_TENANT * len(TENANTS)
    end = "\n" if done == total else ""
    print(f"\r{done} of {total} requests answered", end=end, file=sys.stderr,
          flush=True)


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print(__doc__.rsplit("\n\n", 1)[1].strip(), file=sys.stderr)
        return 2
    rng = random.Random(20)
    plans = [requests_of(tenant, rng) for tenant in TENANTS]
    progress = show_progress if sys.stderr.isatty() else None
    results = client.run(int(sys.argv[1]), plans, progress=progress)
    failed = [r for r in results if r.status not in (200, 201)]
    for result in failed:
        print(f"{result.request.method} {result.request.path}: status "
              f"{result.status}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
