"""What the gates share: finding sources, reading C without comments, and the report (TAP, one line a case)."""

import os
import re
import shutil
import subprocess
import sys

FROZEN = os.path.join("tests", "headers", "frozen-")


def find(root, folders, suffixes):
    """Paths below root/folders with one of the suffixes, sorted, relative to root."""
    found = []
    for folder in folders:
        for base, dirs, names in os.walk(os.path.join(root, folder)):
            dirs.sort()
            for name in names:
                if name.endswith(suffixes):
                    found.append(os.path.relpath(os.path.join(base, name), root))
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank_comments(text, keep_strings=False):
    """The text with comments (and the inside of literals) blanked; line numbers stay true."""

    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token if keep_strings else token[0] + " " * (len(token) - 2) + token[0]
        return re.sub(r"[^\n]", " ", token)

    return TOKEN.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def run(command, **more):
    """Run a command; returns (exit status, output of both streams). A command that isn't there has the shell's status."""
    if shutil.which(command[0]) is None:
        return 127, "%s is not installed" % command[0]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, **more)
    return done.returncode, done.stdout


def report(cases):
    """Print TAP for [(name, [fault…] or None for skipped)] and exit."""
    print("1..%d" % len(cases))
    failed = False
    for number, (name, faults) in enumerate(cases, 1):
        if faults is None:
            print("ok %d - %s # SKIP" % (number, name))
            continue
        print("%s %d - %s" % ("not ok" if faults else "ok", number, name))
        for fault in faults:
            print("# " + fault.replace("\n", "\n# "))
        failed = failed or bool(faults)
    sys.exit(1 if failed else 0)


def arguments():
    """Source root and build folder from the command line; the build folder may be absent."""
    root = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.getcwd()
    build = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    return root, build
