# SPDX-License-Identifier: Apache-2.0
"""Reads object files that were compiled with -ffunction-sections: which
function refers to what. Every reference that leaves a function has a
relocation, calls of static functions included, since each function is a section
of its own. objdump (binutils) reads the file."""
import dataclasses
import re
import subprocess

SYMBOL = re.compile(r"^([0-9a-f]{16}) (.{7}) (\S+)\t[0-9a-f]{16} "
                    r"(?:\.(?:hidden|internal|protected) )?(\S+)$")
SECTION = re.compile(r"^Disassembly of section (\S+):$")
LABEL = re.compile(r"^([0-9a-f]{16}) <(.+)>:$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(.*)$")
RELOCATION = re.compile(r"^\t\t\t([0-9a-f]+): (R_X86_64_\w+)\t(\S+)$")
DATA_SECTION = re.compile(r"^RELOCATION RECORDS FOR \[(\S+)\]:$")
DATA_RELOCATION = re.compile(r"^[0-9a-f]{16} (R_X86_64_\w+) +(\S+)$")
TARGET = re.compile(r"^(.+?)([+-]0x[0-9a-f]+)?$")

# Made by the linker: they name places, not code of anyone's.
LINKER_SYMBOLS = re.compile(
    r"_GLOBAL_OFFSET_TABLE_|_DYNAMIC|__dso_handle|__ehdr_start"
    r"|__(start|stop)_spanprof_\w+")


class Unreadable(Exception):
    """The object file is not one that can be checked."""


@dataclasses.dataclass(frozen=True)
class Reference:
    """What a function refers to. `function` is set when it is a function of
    the same object; else `name` is a symbol of another."""
    name: str
    is_call: bool
    function: object = None


@dataclasses.dataclass(eq=False)
class Function:
    """One function of an object. `source` is its file as the tree has it."""
    name: str
    source: str
    section: str
    address: int
    is_local: bool
    uses_fs: bool = False
    references: list = dataclasses.field(default_factory=list)

    @property
    def base(self):
        """The name in the source: without .part.0, .constprop.0, .cold."""
        return self.name.split(".")[0]

    @property
    def folder(self):
        return self.source.split("/")[0]


class Object:
    """An object file: its functions, and the data that other objects see."""

    def __init__(self, path, source):
        self.source = source
        self.functions = []
        self.data = set()
        self._local_data = set()
        self._sections = {}
        self._by_name = {}
        self._pointers = {}
        self._read_symbols(_objdump("-t", path))
        self._read_pointers(_objdump("-r", path))
        self._read_code(_objdump("-dr", "--no-show-raw-insn", path))

    def _read_symbols(self, lines):
        for line in lines:
            match = SYMBOL.match(line)
            if not match:
                continue
            address, flags, section, name = match.groups()
            if flags[6] == "F" and section != "*UND*":
                self._add_function(Function(name, self.source, section,
                                            int(address, 16),
                                            flags[0] == "l"))
            elif section != "*UND*":
                (self._local_data if flags[0] == "l" else self.data).add(name)

    def _add_function(self, function):
        self.functions.append(function)
        self._by_name[function.name] = function
        self._sections.setdefault(function.section, []).append(function)
        self._sections[function.section].sort(key=lambda f: f.address)

    def _read_pointers(self, lines):
        """Functions whose address lies in a data section. PC-relative entries
        are the tables of switch statements."""
        section = ""
        for line in lines:
            match = DATA_SECTION.match(line)
            if match:
                section = match.group(1)
            match = DATA_RELOCATION.match(line)
            if match and match.group(1) == "R_X86_64_64" and not \
                    section.startswith((".debug", ".text", ".eh_frame")):
                self._pointers.setdefault(section, []).append(match.group(2))

    def _function_at(self, section, offset):
        """The function of a section that contains an offset."""
        found = None
        for function in self._sections.get(section, ()):
            if function.address <= offset or found is None:
                found = function
        return found

    def _read_code(self, lines):
        section, function, operation = "", None, ""
        for line in lines:
            if match := SECTION.match(line):
                section = match.group(1)
            elif match := LABEL.match(line):
                function = self._function_at(section, int(match.group(1), 16))
                if function is None:
                    raise Unreadable(f"{self.source}: {match.group(2)} has no "
                                     "type; say .type NAME, @function")
            elif match := RELOCATION.match(line):
                self._refer(function, operation, match.group(3))
            elif match := INSTRUCTION.match(line):
                operation = match.group(2)
                function.uses_fs |= "%fs" in operation

    def _refer(self, function, operation, text):
        is_call = operation.split(" ")[0].startswith(("call", "j"))
        function.references += self._resolve(text, is_call, 4)

    def _resolve(self, text, is_call, pc_bias):
        """The references of a relocation's target, such as `.text.f-0x4`: a
        data section stands for all functions that it points to."""
        name, addend = TARGET.match(text).groups()
        if name in self._by_name:
            return [Reference(name, is_call, self._by_name[name])]
        if name in self._sections:
            offset = int(addend or "0", 16) + pc_bias
            function = self._function_at(name, offset)
            return [Reference(function.name, is_call, function)]
        if name in self._pointers:
            return [reference for text in self._pointers[name]
                    for reference in self._resolve(text, False, 0)]
        if name in self._local_data or name in self.data:
            return []
        return [Reference(name.split("@")[0], is_call)]


def _objdump(*arguments):
    done = subprocess.run(["objdump", *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        raise Unreadable(done.stderr.strip())
    return done.stdout.splitlines()
