# SPDX-License-Identifier: Apache-2.0
"""The rule of where code runs, held against the object files.

Each function has a rank: its suffix says it, else its folder does. A static
function without a suffix has the ranks of those who use it in its file, so it
is held to the strictest of them.

    sig      *_sig            the signal handler, so anywhere
    sampler  rest of sampler/ the sampler thread, which libc does not know
    app      *_app, hooks/,   the program's threads
             preload/

A reference to a function counts as a call: what is handed on is called by
someone. The lists sig-allow.txt and app-allow.txt name the exceptions.
"""
import collections

from checks import objects

SIG, SAMPLER, APP = "sig", "sampler", "app"
HOME = {"sampler": SAMPLER, "hooks": APP, "preload": APP}
SUFFIXES = {"_sig": SIG, "_app": APP}

# Who may call whom, by what the callee bears.
MAY_CALL = {SIG: {SIG}, SAMPLER: {SIG, SAMPLER}, APP: {SIG, APP}}


class BadList(Exception):
    """A line of an allow list isn't what it should be."""


def _entries(path, fields):
    """The lines of an allow list: `fields` words, then the reason."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split("#")[0].split(maxsplit=fields)
            if words and len(words) != fields + 1:
                raise BadList(f"{path}:{number}: needs {fields} words and a "
                              "reason")
            if words:
                yield words


class Allowed:
    """Both lists. Remembers what was used, so that they cannot rot."""

    def __init__(self, sig_path, app_path):
        self.sig = {}
        self.app = collections.defaultdict(set)
        self.used = set()
        for name, rank, _ in _entries(sig_path, 2):
            if rank not in ("sig", "thread"):
                raise BadList(f"{sig_path}: {name}: {rank} is no rank")
            self.sig[name] = rank
        for name, source, _ in _entries(app_path, 2):
            self.app[name].add(source)

    def rank(self, name):
        """The rank of a function that bears no suffix but is listed."""
        return {"sig": SIG, "thread": SAMPLER}.get(self.sig.get(name))

    def permits_sig(self, reference, name):
        self.used.add(name)
        return self.sig[name] == "sig" or not reference.is_call

    def permits_app(self, name, source):
        if not self.app[name] & {source, "*"}:
            return False
        self.used.add(name)
        return True

    def unused(self):
        """Complaints about entries without a use; those for any file are of
        a kind, of which each compiler needs some."""
        names = set(self.sig) | {name for name, where in self.app.items()
                                 if where and "*" not in where}
        return [f"{name} is allowed, but nobody needs it"
                for name in sorted(names - self.used)]


def suffix_rank(name):
    for suffix, rank in SUFFIXES.items():
        if name.endswith(suffix):
            return rank
    return None


class Marks:
    """The functions of all objects, and the ranks that they have."""

    def __init__(self, all_objects, allowed):
        self.allowed = allowed
        self.functions = [f for o in all_objects for f in o.functions]
        self.data = set().union(*(o.data for o in all_objects))
        self.globals = {f.name: f for f in self.functions if not f.is_local}
        self.ranks = {f: set() for f in self.functions}
        self._rank_all()

    def _own_rank(self, function):
        """What a function's name says, None for a static one that says
        nothing."""
        rank = suffix_rank(function.base) or self.allowed.rank(function.base)
        if not rank and not function.is_local:
            rank = HOME[function.folder]
        return rank

    def _rank_all(self):
        for function in self.functions:
            if rank := self._own_rank(function):
                self._give(function, rank)
        # Nobody of its file names it: a constructor, or dead.
        for function in self.functions:
            if not self.ranks[function]:
                self._give(function, HOME[function.folder])

    def _give(self, function, rank):
        """Ranks a function and the unmarked static ones that it uses."""
        waiting = [function]
        while waiting:
            function = waiting.pop()
            if rank in self.ranks[function]:
                continue
            self.ranks[function].add(rank)
            waiting += [r.function for r in function.references
                        if r.function and not self._own_rank(r.function)]

    def call_violations(self):
        """References to what the rank of the caller forbids."""
        found = set()
        for function, ranks in self.ranks.items():
            for rank in ranks:
                for reference in function.references:
                    if complaint := self._complaint(function, rank, reference):
                        found.add(f"{function.source}: {function.name} ({rank})"
                                  f" {complaint}")
        return sorted(found)

    def _complaint(self, function, rank, reference):
        callee = reference.function or self.globals.get(reference.name)
        if callee:
            return self._own_complaint(function, rank, reference, callee)
        name = reference.name
        if name in self.data or objects.LINKER_SYMBOLS.fullmatch(name):
            return None
        if rank == APP and self.allowed.permits_app(name, function.source):
            return None
        return f"needs {name} from outside"

    def _own_complaint(self, function, rank, reference, callee):
        name = callee.base
        own = self._own_rank(callee)
        if own is None or callee is function:
            return None
        if name in self.allowed.sig and rank != APP:
            if self.allowed.permits_sig(reference, name):
                return None
            return f"calls {name}, which begins a thread"
        if own in MAY_CALL[rank]:
            return None
        if rank == APP and self.allowed.permits_app(name, function.source):
            return None
        return f"{'calls' if reference.is_call else 'names'} {name} ({own})"

    def fs_violations(self):
        """%fs where it may be another thread's, or nobody's."""
        return sorted(f"{f.source}: {f.name} reads %fs" for f, ranks
                      in self.ranks.items() if f.uses_fs and
                      (f.folder == "sampler" or ranks & {SIG, SAMPLER}))


def check(all_objects, allowed, how):
    """Pairs (statement, violations) about the objects of one build."""
    marks = Marks(all_objects, allowed)
    return [(f"functions_call_their_own_rank_or_a_safer_one_{how}",
             marks.call_violations()),
            (f"handler_and_sampler_thread_leave_fs_alone_{how}",
             marks.fs_violations())]
