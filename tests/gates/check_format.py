#!/usr/bin/env python3
"""Gate: the tree is formatted as .clang-format says."""

import os
import shutil
import sys

import gatelib


def format_faults(root, program, style=None):
    paths = [path for path in gatelib.find(root, ["lib", "include", "examples", "tests"], (".c", ".h"))
             if not path.startswith(gatelib.FROZEN)]
    if not paths:
        return []
    style_file = style or os.path.join(root, ".clang-format")
    status, output = gatelib.run([program, "--style=file:" + style_file, "--dry-run", "--Werror"] + paths, cwd=root)
    if status == 0:
        return []
    first = {}
    for line in output.splitlines():
        if ": error:" in line:
            first.setdefault(line.split(":")[0], line)
    return list(first.values()) or [output.strip()]


def clang_format():
    return shutil.which("clang-format-14") or shutil.which("clang-format")


if __name__ == "__main__":
    ROOT, _ = gatelib.arguments()
    PROGRAM = clang_format()
    sys.exit(gatelib.report([("format: the tree is formatted",
                              format_faults(ROOT, PROGRAM) if PROGRAM else ["clang-format is not installed"])]))
