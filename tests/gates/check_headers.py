#!/usr/bin/env python3
"""
Gate: each public header compiles alone as C11, C++17 and Objective-C, without a warning, and everything in it is
documented: functions, types, fields, values and macros.
"""

import json
import os
import re
import shutil
import sys

import gatelib

WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wundef", "-Wshadow", "-Werror"]


def languages():
    """(name, command) of each compiler that is there."""
    found = []
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler):
            found.append((compiler + " C11", [compiler, "-std=c11", "-Wstrict-prototypes", "-xc"]))
    for compiler in ("g++", "clang++"):
        if shutil.which(compiler):
            found.append((compiler + " C++17", [compiler, "-std=c++17", "-xc++"]))
    if shutil.which("clang"):
        found.append(("clang Objective-C", ["clang", "-std=c11", "-xobjective-c"]))
        found.append(("clang documentation", ["clang", "-std=c11", "-Wdocumentation", "-xc"]))
    return found


def public_headers(root):
    return gatelib.find(os.path.join(root, "include"), ["uar"], (".h",))


def compile_faults(root, header, command):
    include = os.path.join(root, "include")
    status, output = gatelib.run(command + ["-"] + WARNINGS + ["-fsyntax-only", "-I", include],
                                 input="#include <%s>\n#include <%s>\n" % (header, header))
    return [] if status == 0 else ["%s: %s" % (header, output.strip())]


def has_comment(node):
    return any(child.get("kind") == "FullComment" for child in node.get("inner", []))


class Declarations:
    """Walks clang's tree of one header and notes what has no doc comment."""

    def __init__(self, path):
        self.path = path
        self.faults = []
        self.current = None

    def note_file(self, node):
        """Clang names the file only where it changes."""
        for place in (node.get("loc", {}), node.get("range", {}).get("begin", {})):
            for spot in (place, place.get("spellingLoc", {}), place.get("expansionLoc", {})):
                if "file" in spot:
                    self.current = spot["file"]

    def demand(self, node, what):
        """What comes out of an X-macro is documented in its list."""
        if not has_comment(node) and "expansionLoc" not in node.get("loc", {}):
            self.faults.append("%s: %s %s has no doc comment" % (self.path, what, node.get("name", "(unnamed)")))

    def visit(self, node):
        self.note_file(node)
        if self.current is None or os.path.abspath(self.current) != self.path:
            return
        kind = node.get("kind")
        if kind == "LinkageSpecDecl":
            for child in node.get("inner", []):
                self.visit(child)
        elif kind == "FunctionDecl":
            self.demand(node, "function")
        elif kind == "TypedefDecl":
            self.demand(node, "type")
        elif kind in ("RecordDecl", "EnumDecl"):
            self.members(node)

    def members(self, node):
        for child in node.get("inner", []):
            kind = child.get("kind")
            if kind in ("FieldDecl", "EnumConstantDecl") and not child.get("isImplicit"):
                self.demand(child, "field" if kind == "FieldDecl" else "value")
            elif kind == "RecordDecl":
                self.members(child)


def declaration_faults(root, header, clang):
    path = os.path.join(root, "include", header)
    status, output = gatelib.run([clang, "-std=c11", "-fsyntax-only", "-w",
                                  "-I", os.path.join(root, "include"), "-Xclang", "-ast-dump=json", "-xc", path])
    if status != 0:
        return ["%s: does not compile" % header]
    walk = Declarations(os.path.abspath(path))
    for node in json.loads(output).get("inner", []):
        walk.visit(node)
    return [fault.replace(walk.path, header, 1) for fault in walk.faults]


DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)")


def macro_faults(root, header):
    """A macro has a comment of its own, or shares the one above its block. Guards and names undefined again are exempt."""
    text = gatelib.read(root, os.path.join("include", header))
    undefined = set(re.findall(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", text, re.M))
    guard = re.search(r"^#ifndef (\w+)\n#define \1$", text, re.M)
    exempt = undefined | ({guard.group(1)} if guard else set())
    faults = []
    documented = False
    continued = False
    in_comment = False
    for number, line in enumerate(text.split("\n"), 1):
        was_continued, continued = continued, line.endswith("\\")
        if was_continued:
            continue
        stripped = line.strip()
        if in_comment or stripped.startswith("/*"):
            if not in_comment:
                documented = stripped.startswith("/**")
            in_comment = "*/" not in stripped
            continue
        match = DEFINE.match(line)
        if match:
            if match.group(1) not in exempt and not documented and "/**<" not in line:
                faults.append("%s:%d: macro %s has no doc comment" % (header, number, match.group(1)))
        elif not stripped.startswith("#"):
            documented = False
    return faults


def document_faults(root):
    clang = shutil.which("clang") or shutil.which("clang-14")
    if clang is None:
        return ["clang is not installed"]
    faults = []
    for header in public_headers(root):
        faults += declaration_faults(root, header, clang)
        faults += macro_faults(root, header)
    return faults


if __name__ == "__main__":
    ROOT, _ = gatelib.arguments()
    CASES = []
    for NAME, COMMAND in languages():
        CASES.append(("headers: each compiles alone: " + NAME,
                      [fault for header in public_headers(ROOT) for fault in compile_faults(ROOT, header, COMMAND)]))
    CASES.append(("headers: everything is documented", document_faults(ROOT)))
    sys.exit(gatelib.report(CASES))
