#!/usr/bin/env python3
"""Gate: an app that sees nothing but an installed libuar, or libuar-bert, compiles, links (shared and archive) and runs."""

import os
import shutil
import sys
import tempfile

import gatelib

APP = r"""
#include <uar/uar.h>
#include <stdio.h>
int main(void) {
    uar_persistence_free(uar_persistence_volatile());
    printf("%s %d\n", uar_version(), (int)uar_live_objects());
    return 0;
}
"""

BERT_APP = r"""
#include <uar/bert.h>
#include <stdio.h>
int main(void) {
    uar_embedder e;
    uar_status status = uar_bert_open(&e, "no such folder", NULL, NULL);
    printf("%s %d\n", uar_version(), uar_bert_level() != NULL && status == UAR_E_NOT_FOUND ? 0 : 1);
    return 0;
}
"""


def wanted(build):
    """The version that meson gave the project, and no object left alive."""
    status, output = gatelib.run(["pkg-config", "--modversion", os.path.join(build, "meson-private", "uar.pc")])
    return output.strip() + " 0" if status == 0 else None


def installed(build, target):
    status, output = gatelib.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", target])
    return [] if status == 0 else ["meson install: " + output.strip()]


def pkg_config(target, package, *options):
    folders = [base for base, _, names in os.walk(target) if "uar.pc" in names]
    if len(folders) != 1:
        return None
    environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=target, PKG_CONFIG_PATH=folders[0])
    status, output = gatelib.run(["pkg-config", *options, package], env=environment)
    return output.split() if status == 0 else None


def app_faults(build, target, archive, package="uar", app=APP):
    """Build the app against the installed files and run it."""
    cflags = pkg_config(target, package, "--cflags")
    flags = pkg_config(target, package, "--libs", *(["--static"] if archive else []))
    if cflags is None or flags is None:
        return ["%s.pc is not installed, or pkg-config refuses it" % package]
    foreign = [flag for flag in cflags if not flag.startswith("-I") or not flag.endswith("/include")]
    if foreign:
        return ["%s.pc hands flags of a dependency to the app: %s" % (package, " ".join(foreign))]
    folder = next(flag[2:] for flag in flags if flag.startswith("-L"))
    if archive:
        archives = {"-luar": "libuar.a", "-luar-bert": "libuar-bert.a"}
        flags = [os.path.join(folder, archives[flag]) if flag in archives else flag for flag in flags]
    source, program = os.path.join(target, "app.c"), os.path.join(target, "app")
    with open(source, "w", encoding="utf-8") as file:
        file.write(app)
    status, output = gatelib.run(["cc", "-std=c11", "-Wall", "-Werror", source, "-o", program] + cflags + flags)
    if status != 0:
        return ["the app does not link: " + output.strip()]
    status, output = gatelib.run([program], env={"LD_LIBRARY_PATH": folder})
    if status != 0 or output.strip() != wanted(build):
        return ["the app printed '%s' (status %d), not '%s'" % (output.strip(), status, wanted(build))]
    return []


def no_private_header(target):
    headers = [name for _, _, names in os.walk(target) for name in names if name.endswith(".h")]
    root = [base for base, folders, _ in os.walk(target) if os.path.basename(base) == "include"]
    if len(root) != 1 or not headers:
        return ["no headers were installed"]
    return ["installed outside include/uar: " + name for name in os.listdir(root[0]) if name != "uar"]


if __name__ == "__main__":
    ROOT, BUILD = gatelib.arguments()
    if not BUILD:
        sys.exit("usage: check_install.py SOURCE_ROOT BUILD_DIR")
    TARGET = tempfile.mkdtemp(prefix="install-")
    try:
        FAULTS = installed(BUILD, TARGET)
        HAS_ARCHIVE = os.path.exists(os.path.join(BUILD, "lib", "libuar.a"))
        CASES = [
            ("install: only the public headers", FAULTS or no_private_header(TARGET)),
            ("install: an app links the shared library", FAULTS or app_faults(BUILD, TARGET, False)),
            ("install: an app links the archive", (FAULTS or app_faults(BUILD, TARGET, True)) if HAS_ARCHIVE else None),
            ("install: an app links the shared libuar-bert",
             FAULTS or app_faults(BUILD, TARGET, False, "uar-bert", BERT_APP)),
            ("install: an app links the archive of libuar-bert",
             (FAULTS or app_faults(BUILD, TARGET, True, "uar-bert", BERT_APP)) if HAS_ARCHIVE else None),
        ]
    finally:
        shutil.rmtree(TARGET)
    gatelib.report(CASES)
