#!/usr/bin/env python3
"""Gate: no path of a machine, no host of a package registry, nothing left for later in code that ships."""

import os
import re
import sys

import gatelib

TEXT = (".c", ".h", ".md", ".build", ".txt", ".sh", ".py", ".wrap", ".map", ".in", ".json", ".yml", ".yaml", ".swift",
        ".java", ".kt", ".gradle", ".toml", ".pc", ".modulemap", ".list")
SHIPPED = ("lib", "include", "examples", "bindings", "tools")
# In pieces, so that this file names none itself.
REGISTRIES = [("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("crates", "io"),
              ("debian", "org"), ("golang", "org"), ("maven", "org"), ("maven", "apache", "org"), ("sonatype", "org"),
              ("mesonbuild", "com"), ("ubuntu", "com"), ("docker", "io"), ("nodesource", "com")]
REGISTRY = re.compile(r"\b(?:[\w-]+\.)*(?:%s)\b" % "|".join(r"\.".join(parts) for parts in REGISTRIES), re.I)
MACHINE = re.compile(r"(?<![\w.$}-])/(?:home|Users|root|work|mnt|media)/[\w.-]+|\b[A-Za-z]:\\\\?(?:Users|Windows)\b")
LATER = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b|not implemented|not yet implemented", re.I)
ISSUE = re.compile(r"(?<![\w&#])(?:issue |fixes |closes )#?\d+\b", re.I)


def repository_files(root):
    """What git has or would take in, else every file outside out/ and build folders."""
    status, output = gatelib.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"])
    if status == 0:
        return sorted(path for path in set(output.split("\0")) if path and os.path.isfile(os.path.join(root, path)))
    return [path for path in gatelib.find(root, ["."], ("",))
            if not re.match(r"(?:\./)?(?:out|build[^/]*|\.git)/", path)]


def is_text(path):
    return path.endswith(TEXT) or os.path.basename(path) in ("run", ".gitignore", ".clang-format", ".clang-tidy")


def scan(root, paths, pattern, what):
    faults = []
    for path in paths:
        text = gatelib.read(root, path)
        for match in pattern.finditer(text):
            faults.append("%s:%d: %s: %s" % (path, gatelib.line_of(text, match.start()), what, match.group(0).strip()))
    return faults


def machine_faults(root, paths):
    own = re.compile(re.escape(root) + r"\b")
    return scan(root, paths, MACHINE, "path of a machine") + scan(root, paths, own, "path of this checkout")


if __name__ == "__main__":
    ROOT, _ = gatelib.arguments()
    PATHS = [path for path in repository_files(ROOT) if is_text(path)]
    SHIPPED_PATHS = [path for path in PATHS if path.startswith(tuple(folder + os.sep for folder in SHIPPED))]
    sys.exit(gatelib.report([
        ("repo: no path of a machine", machine_faults(ROOT, PATHS)),
        ("repo: no host of a package registry", scan(ROOT, PATHS, REGISTRY, "registry host")),
        ("repo: nothing left for later in what ships", scan(ROOT, SHIPPED_PATHS, LATER, "left for later")),
        ("repo: no issue numbers in what ships", scan(ROOT, SHIPPED_PATHS, ISSUE, "issue number")),
    ]))
