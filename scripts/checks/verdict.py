# SPDX-License-Identifier: Apache-2.0
"""How a gate says what it found: in the lines of a unit test, so that
tests/run counts each statement."""

MOST_SHOWN = 40


class Verdict:
    """Collects the statements of one gate."""

    def __init__(self):
        self.failed = 0

    def state(self, statement, violations):
        """Prints what contradicts the statement, then the verdict on it."""
        for violation in violations[:MOST_SHOWN]:
            print(f"  {violation}")
        if len(violations) > MOST_SHOWN:
            print(f"  and {len(violations) - MOST_SHOWN} more")
        self.failed += bool(violations)
        print(f"{'FAIL' if violations else 'ok'} {statement}", flush=True)

    def state_all(self, statements):
        """The same for pairs (statement, violations)."""
        for statement, violations in statements:
            self.state(statement, violations)

    @property
    def status(self):
        """The exit status of the gate."""
        return 1 if self.failed else 0
