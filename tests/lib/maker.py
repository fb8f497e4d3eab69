# SPDX-License-Identifier: Apache-2.0
"""Profiles made by hand: right ones, for tests to put one fault into."""
import time

from lib import profile

CPU_NS = 10**7
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"


class Maker:
    """Builds a profile message by names instead of numbers."""

    def __init__(self):
        self.message = profile.messages().Profile()
        self.message.string_table.append("")
        for type_, unit in (("samples", "count"), ("cpu", "nanoseconds")):
            self.message.sample_type.add(type=self.text(type_),
                                         unit=self.text(unit))
        self.message.period_type.type = self.text("cpu")
        self.message.period_type.unit = self.text("nanoseconds")
        self.message.period = CPU_NS
        self.message.default_sample_type = self.text("cpu")
        self.message.time_nanos = time.time_ns() - 10**9
        self.message.duration_nanos = 10**9
        self.message.mapping.add(id=1, filename=self.text("/usr/bin/app"))
        self.add_sample(("burn_01", "main"), {"trace_id": TRACE,
                                              "span_id": SPAN, "pid": 5})

    def text(self, text):
        table = self.message.string_table
        if text not in table:
            table.append(text)
        return list(table).index(text)

    def location(self, name):
        number = len(self.message.location) + 1
        self.message.function.add(id=number, name=self.text(name))
        self.message.location.add(id=number, mapping_id=1).line.add(
            function_id=number)
        return number

    def add_sample(self, stack, labels, values=(1, CPU_NS)):
        sample = self.message.sample.add(value=values)
        sample.location_id.extend(self.location(name) for name in stack)
        for key, value in labels.items():
            if isinstance(value, int):
                sample.label.add(key=self.text(key), num=value)
            else:
                sample.label.add(key=self.text(key), str=self.text(value))
        return sample
