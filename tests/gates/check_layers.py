#!/usr/bin/env python3
"""Gate: a file of lib/ includes only its own folder and folders of lower layers; siblings of one layer never."""

import os
import re

import gatelib

LAYERS = [
    {"base"},
    {"schema"},
    {"store"},
    {"event"},
    {"index"},
    {"model", "tool", "memory", "knowledge", "skill", "graph"},
    {"run"},
    {"runtime"},
    {"surface"},
]
RANK = {folder: rank for rank, folders in enumerate(LAYERS) for folder in folders}
# Libraries of their own behind a public door: they see the public headers, themselves and what they take of these layers.
APART = {"bert": {"base"}}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def includes(root, path):
    text = gatelib.read(root, path)
    code = gatelib.blank_comments(text, keep_strings=True)
    for match in INCLUDE.finditer(code):
        yield gatelib.line_of(text, match.start()), match.group(1), match.group(2)


def target_of(root, path, name):
    """The file that a quoted include means, relative to root, or None."""
    for base in (os.path.dirname(path), "lib"):
        target = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(root, target)):
            return target
    return None


def allowed(folder, other):
    if other == folder:
        return True
    if folder in APART:
        return other in APART[folder]
    if other in APART:
        return False
    return RANK[other] < RANK[folder]


def lib_faults(root):
    faults = []
    for path in gatelib.find(root, ["lib"], (".c", ".h")):
        folder = path.split(os.sep)[1]
        if folder not in RANK and folder not in APART:
            faults.append("%s: folder '%s' has no layer" % (path, folder))
            continue
        for line, kind, name in includes(root, path):
            where = "%s:%d: " % (path, line)
            if kind == "<":
                if name.split("/")[0] in RANK:
                    faults.append(where + "<%s>: a private header is included with quotes" % name)
                continue
            target = target_of(root, path, name)
            if target is None or not target.startswith("lib" + os.sep):
                faults.append(where + '"%s" is no header of lib/' % name)
                continue
            other = target.split(os.sep)[1]
            if other not in RANK and other not in APART:
                faults.append(where + "folder '%s' has no layer" % other)
            elif not allowed(folder, other):
                faults.append(where + '%s may not include "%s"' % (folder, name))
    return faults


def public_faults(root):
    """Public headers stand alone: nothing of lib/, nothing of a dependency."""
    standard = {"stdbool.h", "stddef.h", "stdint.h", "string.h"}
    faults = []
    for path in gatelib.find(root, [os.path.join("include", "uar")], (".h",)):
        for line, kind, name in includes(root, path):
            if kind == "<" and (name in standard or name.startswith("uar/")):
                continue
            faults.append("%s:%d: a public header may not include '%s'" % (path, line, name))
    return faults


def example_faults(root):
    """A host sees the public headers only."""
    faults = []
    for path in gatelib.find(root, ["examples"], (".c", ".h")):
        for line, kind, name in includes(root, path):
            inside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if kind == '"' and not (inside.startswith("examples" + os.sep) and os.path.isfile(os.path.join(root, inside))):
                faults.append('%s:%d: "%s" is not a file of the example' % (path, line, name))
    return faults


if __name__ == "__main__":
    ROOT, _ = gatelib.arguments()
    gatelib.report([
        ("layers: no upward or sideways include in lib", lib_faults(ROOT)),
        ("layers: public headers include only public headers", public_faults(ROOT)),
        ("layers: examples include only public headers", example_faults(ROOT)),
    ])
