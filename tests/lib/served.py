# SPDX-License-Identifier: Apache-2.0
"""The truth server under the agent, serving some requests and pushing to a
recorder."""
import random
import time

from lib import burn, client, profile, run


class Served:
    """What came of a program that served requests and pushed."""

    def __init__(self, server, env=None, requests=(), how="run", files=False,
                 arguments=(), while_running=None):
        with run.temporary_folder() as folder:
            self.log_path = folder / "agent.log"
            environment = {"SPANPROF_SERVER": server.url,
                           "SPANPROF_INTERVAL": "1s",
                           "SPANPROF_SERVICE": "shop",
                           "SPANPROF_LOG": str(self.log_path),
                           "SPANPROF_LOG_LEVEL": "debug", **(env or {})}
            argv = [run.server("burn"), "--threads=2",
                    f"--log={folder / 'log'}"]
            output = folder / "profiles" if files else None
            with run.Program(argv, env=environment, how=how, output=output,
                             cwd=folder, wrapper_options=arguments) as program:
                self.results = client.run(program.port(), [list(requests)])
                if while_running:
                    while_running(program, folder)
                began = time.monotonic()
                self.status = program.stop()
                self.end_s = time.monotonic() - began
                self.stderr = program.stderr
            self.output = profile.read(output) if files else None
            self.files = sorted(p.name for p in folder.iterdir())
            self.contents = [p.read_bytes() for p in folder.rglob("*")
                             if p.is_file()]
            self.log = self.log_path.read_text()


def requests(seed, count=4, usec=60000, **more):
    rng = random.Random(seed)
    return [burn.request(rng, usec, **more) for _ in range(count)]
