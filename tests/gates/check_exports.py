#!/usr/bin/env python3
"""
Gate over the two libraries that are installed: the shared one exports exactly what the headers declare; the archive
defines nothing else globally and needs nothing but the C library; the shared one loads where pages have 16 KiB and
needs no C++ runtime.
"""

import os
import re
import sys

import gatelib

DECLARED = re.compile(r'__attribute__\(\(visibility\("default"\)\)\)[^;{(]*?\b(\w+)\s*\(')
# What the archive may leave open: the C library and the thread library inside it, the linker's own.
FOREIGN = re.compile(r"^(?:sqlite3|fts5|cJSON|mbedtls|psa|utf8proc)_?\w*$", re.I)


def declared_functions(root, compiler):
    """Names of every UAR_API function, as the preprocessor leaves them."""
    headers = gatelib.find(os.path.join(root, "include"), ["uar"], (".h",))
    text = "".join("#include <%s>\n" % header for header in headers)
    status, output = gatelib.run([compiler, "-std=c11", "-E", "-P", "-I", os.path.join(root, "include"), "-xc", "-"],
                                 input=text)
    if status != 0:
        errors = [line for line in output.splitlines() if "error:" in line]
        raise RuntimeError("the headers don't compile together: " + "; ".join(errors))
    return set(DECLARED.findall(output))


def defined_symbols(path, dynamic):
    """{name: type} of the global symbols that a library defines."""
    command = ["nm", "--defined-only", "--extern-only"] + (["-D"] if dynamic else []) + [path]
    status, output = gatelib.run(command)
    if status != 0:
        raise RuntimeError("nm: " + output.strip())
    rows = (line.split() for line in output.splitlines())
    return {row[2].split("@")[0]: row[1] for row in rows if len(row) == 3}


def foreign_names(symbols):
    return ["global symbol that is no API: " + name for name in sorted(symbols)
            if not name.startswith("uar_") or name.startswith("uar_i_")]


def library_of(name):
    """What is declared as uar_bert_* belongs to libuar-bert, all else to libuar."""
    return "uar-bert" if name.startswith("uar_bert_") else "uar"


def export_faults(declared, symbols, library="uar"):
    faults = foreign_names(symbols)
    faults += ["global symbol of the other library: " + name for name in sorted(symbols)
               if name.startswith("uar_") and library_of(name) != library]
    declared = {name for name in declared if library_of(name) == library}
    names = {name for name in symbols if name.startswith("uar_")}
    faults += ["declared but not exported: " + name for name in sorted(declared - names)]
    faults += ["exported but not declared: " + name for name in sorted(names - declared) if not name.startswith("uar_i_")]
    return faults


def undefined_faults(path):
    status, output = gatelib.run(["nm", "--undefined-only", path])
    if status != 0:
        return ["nm: " + output.strip()]
    names = sorted({line.split()[-1] for line in output.splitlines() if line.strip()})
    return ["the archive needs %s from outside" % name for name in names if FOREIGN.match(name)]


def page_faults(path):
    """Every loadable segment is aligned for 16 KiB pages."""
    status, output = gatelib.run(["readelf", "-lW", path])
    aligns = [int(line.split()[-1], 16) for line in output.splitlines() if line.split()[:1] == ["LOAD"]]
    if status != 0 or not aligns:
        return ["readelf: " + output.strip()]
    return ["a segment is aligned to %d bytes, at least 16384 are needed" % align for align in aligns if align < 16384]


def runtime_faults(path):
    status, output = gatelib.run(["readelf", "-dW", path])
    needed = re.findall(r"\(NEEDED\).*\[(.+?)\]", output)
    if status != 0 or not needed:
        return ["readelf: " + output.strip()]
    return ["needs " + name for name in needed if re.match(r"libstdc\+\+|libc\+\+|libsupc\+\+", name)]


def caught(check, *arguments):
    try:
        return check(*arguments)
    except RuntimeError as error:
        return [str(error)]


if __name__ == "__main__":
    ROOT, BUILD = gatelib.arguments()
    if not BUILD:
        sys.exit("usage: check_exports.py SOURCE_ROOT BUILD_DIR")
    SHARED = os.path.join(BUILD, "lib", "libuar.so")
    BERT = os.path.join(BUILD, "lib", "bert", "libuar-bert.so")
    BERT_ARCHIVE = os.path.join(BUILD, "lib", "bert", "libuar-bert.a")
    ARCHIVE = os.path.join(BUILD, "lib", "libuar.a")
    COMPILER = os.environ.get("CC", "cc")

    def exports(path, dynamic, library="uar"):
        return export_faults(declared_functions(ROOT, COMPILER), defined_symbols(path, dynamic), library)

    HAS_ARCHIVE = os.path.exists(ARCHIVE)
    gatelib.report([
        ("test_N4_the_shared_library_exports_exactly_the_declared_functions", caught(exports, SHARED, True)),
        ("test_N4_the_archive_defines_exactly_the_declared_functions",
         caught(exports, ARCHIVE, False) if HAS_ARCHIVE else None),
        ("test_N4_the_archive_needs_none_of_its_dependencies_from_outside",
         undefined_faults(ARCHIVE) if HAS_ARCHIVE else None),
        ("test_N4_libuar_bert_exports_exactly_its_declared_functions", caught(exports, BERT, True, "uar-bert")),
        ("test_N4_the_archive_of_libuar_bert_defines_exactly_its_declared_functions",
         caught(exports, BERT_ARCHIVE, False, "uar-bert") if HAS_ARCHIVE else None),
        ("test_N4_the_archive_of_libuar_bert_needs_none_of_its_dependencies_from_outside",
         undefined_faults(BERT_ARCHIVE) if HAS_ARCHIVE else None),
        ("test_N8_the_shared_library_is_aligned_for_16_KiB_pages", page_faults(SHARED) + page_faults(BERT)),
        ("test_N8_the_shared_library_needs_no_cxx_runtime", runtime_faults(SHARED) + runtime_faults(BERT)),
    ])
