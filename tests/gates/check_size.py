#!/usr/bin/env python3
"""Gate: functions of at most 100 lines, files of at most 1,000, cyclomatic complexity of at most 25 (pmccabe)."""

import os
import re
import sys

import gatelib

MAX_FUNCTION_LINES = 100
MAX_FILE_LINES = 1000
MAX_COMPLEXITY = 25
ROW = re.compile(r"^(\d+)\t(\d+)\t(\d+)\t(\d+)\t(\d+)\t(.+)\(\d+\): (.+)$")


def waivers(root):
    """{name: reason}; a name is `path` or `path:function`."""
    listed = {}
    for line in gatelib.read(root, os.path.join("tests", "gates", "waivers.txt")).splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            listed[name] = reason.strip()
    return listed


def file_faults(root, paths):
    """{name: fault} of files that are too long."""
    faults = {}
    for path in paths:
        lines = gatelib.read(root, path).count("\n")
        if lines > MAX_FILE_LINES:
            faults[path] = "%s: %d lines, at most %d" % (path, lines, MAX_FILE_LINES)
    return faults


def function_faults(root, paths):
    """{name: fault} of functions that are too long or too branchy."""
    faults = {}
    if not paths:
        return faults
    status, table = gatelib.run(["pmccabe"] + paths, cwd=root)
    if status != 0:
        return {"pmccabe": "pmccabe failed: " + table.strip()}
    for row in table.splitlines():
        match = ROW.match(row)
        if not match:
            faults["pmccabe"] = "pmccabe said: " + row
            continue
        complexity, lines = int(match.group(1)), int(match.group(5))
        name = "%s:%s" % (match.group(6), match.group(7))
        if lines > MAX_FUNCTION_LINES:
            faults[name] = "%s: %d lines, at most %d" % (name, lines, MAX_FUNCTION_LINES)
        elif complexity > MAX_COMPLEXITY:
            faults[name] = "%s: complexity %d, at most %d" % (name, complexity, MAX_COMPLEXITY)
    return faults


def waived(faults, listed):
    """What is left after the waivers, and the waivers that are no longer needed or carry no reason."""
    left = [fault for name, fault in faults.items() if name not in listed]
    for name, reason in listed.items():
        if name not in faults:
            left.append("waivers.txt: %s needs no waiver any more" % name)
        elif not reason:
            left.append("waivers.txt: %s has no reason" % name)
    return left


def size_faults(root):
    every = gatelib.find(root, ["lib", "include", "examples", "tests"], (".c", ".h"))
    sources = [path for path in every if path.endswith(".c")]
    faults = file_faults(root, every)
    faults.update(function_faults(root, sources))
    return waived(faults, waivers(root))


if __name__ == "__main__":
    ROOT, _ = gatelib.arguments()
    sys.exit(gatelib.report([("size: functions, files and complexity within the limits", size_faults(ROOT))]))
