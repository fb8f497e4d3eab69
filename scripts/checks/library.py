# SPDX-License-Identifier: Apache-2.0
"""What the linked library shows to the loader: read with readelf (binutils)."""
import re
import subprocess

NEEDED = {"libc.so.6", "libdl.so.2"}
NEWEST_GLIBC = (2, 17)
MOST_TLS_BYTES = 511
FLAGS = {"BIND_NOW", "NOW", "NODELETE"}

# Thread-local storage that needs __tls_get_addr.
DYNAMIC_TLS = re.compile(r"R_X86_64_(DTPMOD64|DTPOFF64|TLSDESC)\b")
DYNAMIC = re.compile(r"^ 0x[0-9a-f]+ \((\w+)\) +(.*)$")
SEGMENT = re.compile(r"^  (\w+) +0x\S+ 0x\S+ 0x\S+ 0x\S+ 0x(\S+) (.{3}) ")
SYMBOL = re.compile(r"^ *\d+: \S+ +\S+ (\w+) +(\w+) +(\w+) +(\w+) (\S+)")


def read(*arguments):
    """The lines that readelf prints about a file."""
    done = subprocess.run(["readelf", "-W", *map(str, arguments)],
                          stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout.splitlines()


def _dynamic(path):
    """Pairs (tag, value) of the dynamic section."""
    return [match.groups() for line in read("-d", path)
            if (match := DYNAMIC.match(line))]


def _segments(path):
    """Triples (type, bytes in memory, flags)."""
    return [(kind, int(size, 16), flags) for line in read("-l", path)
            if (match := SEGMENT.match(line))
            for kind, size, flags in [match.groups()]]


def _dynamic_symbols(path):
    """Pairs (is defined, name with its version)."""
    return [(section != "UND", name) for line in read("--dyn-syms", path)
            if (match := SYMBOL.match(line))
            for _, _, _, section, name in [match.groups()]]


def _hooks(path):
    """The functions for which a HOOK line exists, by the symbols of those."""
    return {match.group(5)[len("hook_"):] for line in read("-s", path)
            if (match := SYMBOL.match(line)) and match.group(1) == "OBJECT"
            and match.group(5).startswith("hook_")}


def _listed(exports_map):
    """The names that a version script makes global, without wildcards."""
    text = re.sub(r"/\*.*?\*/", "", exports_map.read_text(), flags=re.DOTALL)
    names = re.search(r"global:(.*?)local:", text, re.DOTALL).group(1)
    return {name for name in re.split(r"[;\s]+", names)
            if name and not name.endswith("*")}


def needed_violations(path):
    needed = {re.search(r"\[(.*)\]", value).group(1)
              for tag, value in _dynamic(path) if tag == "NEEDED"}
    return [f"needs {name}" for name in sorted(needed - NEEDED)]


def version_violations(path):
    """Undefined symbols that an old C library lacks, or keeps for itself."""
    found = []
    for is_defined, name in _dynamic_symbols(path):
        if is_defined or "@" not in name:
            continue
        version = name.split("@")[-1]
        number = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)*)", version)
        if not number or tuple(
                map(int, number.group(1).split("."))) > NEWEST_GLIBC:
            found.append(f"needs {name}")
    return found


def export_violations(path, exports_map):
    exported = {name.split("@")[0] for is_defined, name
                in _dynamic_symbols(path) if is_defined}
    listed, hooks = _listed(exports_map), _hooks(path)
    strangers = {name for name in exported if name not in listed & hooks
                 and not name.startswith("spanprof_")}
    return ([f"exports {name}, which is no hook and no spanprof_*"
             for name in sorted(strangers)] +
            [f"{exports_map.name} lists {name}, which isn't exported"
             for name in sorted(listed - exported)] +
            [f"HOOK({name}), but {name} isn't exported"
             for name in sorted(hooks - exported)])


def hardening_violations(path):
    dynamic, segments = _dynamic(path), _segments(path)
    tags = {tag for tag, _ in dynamic}
    flags = {word for tag, value in dynamic if tag.startswith("FLAGS")
             for word in value.replace("Flags:", "").split()}
    found = [f"has no {flag}" for flag in sorted(FLAGS - flags)]
    found += [f"has {tag}" for tag in ("TEXTREL", "RPATH", "RUNPATH")
              if tag in tags]
    found += ["has TEXTREL"] if "TEXTREL" in flags else []
    found += [f"its {kind} can be written and executed" for kind, _, rights
              in segments if "W" in rights and "E" in rights]
    kinds = {kind for kind, _, _ in segments}
    return found + [f"has no {kind}" for kind in ("GNU_RELRO", "GNU_STACK")
                    if kind not in kinds]


def tls_violations(path):
    found = [f"{size} bytes of thread-local storage"
             for kind, size, _ in _segments(path)
             if kind == "TLS" and size > MOST_TLS_BYTES]
    found += [f"relocation {match.group(0)}" for line in read("-r", path)
              if (match := DYNAMIC_TLS.search(line))]
    return found + [f"needs {name}" for _, name in _dynamic_symbols(path)
                    if name.startswith("__tls_get_addr")]


def check(path, exports_map):
    """Pairs (statement, violations)."""
    return [
        ("library_needs_libc_and_libdl_at_most", needed_violations(path)),
        ("library_asks_for_nothing_above_glibc_2_17",
         version_violations(path)),
        ("library_exports_hooks_and_its_own_names_alone",
         export_violations(path, exports_map)),
        ("library_is_relro_now_nodelete_and_never_writable_code",
         hardening_violations(path)),
        ("library_has_little_thread_local_storage_and_all_initial_exec",
         tls_violations(path)),
    ]
