#!/usr/bin/env python3
"""Text size of the library's own code, folder by folder.

usage: text_size.py BUILD_DIR     (prints and logs as bench.h does)
"Text" is what `size` calls so: code, constants and unwind tables. Dependencies are not in it. Measured twice: the object
files of the build as they are (text.built.*), and each source compiled again as -Dsmall=true does (text.small.*). text.app.*
is a whole small app whose linker leaves out what nobody calls.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

AIM = 270.0  # KB of 1,000 bytes
# As the option "small" of the build says; it also leaves the conformance kit out.
SMALL = ["-Os", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
OBJECTS = os.path.join("lib", "libuar_internal.a.p")


def report(name, kilobytes, aim=None):
    reached = aim is None or kilobytes < aim
    print(f"{name:<34} {kilobytes:12.1f} KB" + (f" (aim: below {aim:g})" if aim else "") +
          ("" if reached else " MISSED"))
    path = os.environ.get("UAR_BENCH_JSON")
    if path:
        line = {"program": "text", "name": name, "value": round(kilobytes, 3), "unit": "KB"}
        if aim:
            line.update(aim="below", limit=aim, reached=reached)
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps(line, separators=(",", ":")) + "\n")


def text_bytes(paths):
    """[(file name, bytes of text)]"""
    lines = subprocess.run(["size", "--format=berkeley", *paths], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    return [(os.path.basename(line.split()[5]), int(line.split()[0])) for line in lines[1:]]


def report_sizes(prefix, paths, aim=None):
    layers = {}
    for name, size in text_bytes(paths):
        layer = name.split("_")[0]
        layers[layer] = layers.get(layer, 0) + size
    for layer, size in sorted(layers.items(), key=lambda item: -item[1]):
        report(f"text.{prefix}.{layer}", size / 1000)
    report(f"text.{prefix}.total", sum(layers.values()) / 1000, aim)


def small_commands(build, folder):
    """Compile commands of the small library's objects, into `folder`: [(command, object)]"""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as listing:
        entries = json.load(listing)
    commands = []
    for entry in entries:
        name = os.path.basename(entry.get("output", ""))
        if os.path.dirname(entry.get("output", "")) != OBJECTS or name.startswith("store_check"):
            continue
        words = [word for word in shlex.split(entry["command"]) if not word.startswith("-O")]
        out = os.path.join(folder, os.path.basename(entry["output"]))
        for option in ("-o", "-MF", "-MQ"):
            words[words.index(option) + 1] = out + (".d" if option == "-MF" else "")
        commands.append((words + SMALL, out))
    return commands


def app_bytes(build, objects, folder, keeps_memory):
    """Text of examples/quickstart.c and of what its linker took of the small objects; dependencies are shared."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as listing:
        entry = next(entry for entry in json.load(listing) if entry["file"].endswith("examples/quickstart.c"))
    words = [word for word in shlex.split(entry["command"]) if "ccache" not in word]
    source, app = os.path.join(folder, "app.c"), os.path.join(folder, "app")
    with open(os.path.join(build, entry["file"]), encoding="utf-8") as sample, open(source, "w", encoding="utf-8") as out:
        out.writelines(line for line in sample if keeps_memory or not re.search("uar_(builder_)?memory", line))
    command = [words[0], "-Os", *(word for word in words if word.startswith("-I")), source, *objects, "-o", app,
               "-Wl,--gc-sections", "-lsqlite3", "-lcjson", "-lmbedcrypto", "-lutf8proc", "-lpthread", "-lm", "-ldl"]
    if subprocess.run(command, cwd=build, check=False).returncode:
        sys.exit("FAILED text: the app doesn't link")
    return text_bytes([app])[0][1]


def main():
    build = sys.argv[1]
    folder = os.path.join(build, OBJECTS)
    built = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith((".o", ".obj")))
    if not built:
        sys.exit("FAILED text: there are no object files in " + folder)
    report_sizes("built", built)
    with tempfile.TemporaryDirectory() as scratch:
        commands = small_commands(build, scratch)
        if not commands:
            sys.exit("FAILED text: compile_commands.json names no object of the library")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(lambda item: subprocess.run(item[0], cwd=build, check=False).returncode, commands))
        if any(done):
            sys.exit("FAILED text: a source doesn't compile for size")
        objects = sorted(out for _, out in commands)
        report_sizes("small", objects, AIM)
        report("text.app.with_memory", app_bytes(build, objects, scratch, True) / 1000)
        report("text.app.without_memory", app_bytes(build, objects, scratch, False) / 1000, AIM)


if __name__ == "__main__":
    main()
