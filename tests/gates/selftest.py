#!/usr/bin/env python3
"""
The gates' own control: each gets a sample that breaks its rule and must name it, and a good one that it must let pass.
A gate that can't fail is worth nothing.
"""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import count
import check_banned
import check_exports
import check_format
import check_headers
import check_layers
import check_repo
import check_size
import gatelib

CASES = []


def case(function):
    CASES.append(function)
    return function


def tree(files):
    """A throwaway tree with these files."""
    root = tempfile.mkdtemp(prefix="gates-")
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    return root


def over(check, files, *more):
    """Faults that a check finds over a throwaway tree."""
    root = tree(files)
    try:
        return check(root, *more)
    finally:
        shutil.rmtree(root)


def library(source, shared=False):
    """Compile a source; returns the folder (to be removed) and the library's path."""
    root = tree({"a.c": source})
    path = os.path.join(root, "liba.so" if shared else "a.o")
    command = ["cc", "-fPIC"] + (["-shared"] if shared else ["-c"]) + [os.path.join(root, "a.c"), "-o", path]
    subprocess.run(command, check=True)
    return root, path


def over_library(check, source, *more, shared=False):
    root, path = library(source, shared)
    try:
        return check(path, *more)
    finally:
        shutil.rmtree(root)


def names(faults, word):
    return any(word in fault for fault in faults)


@case
def layers_catch_an_upward_include():
    files = {"lib/base/a.c": '#include "store/s.h"\n', "lib/store/s.h": "\n"}
    return names(over(check_layers.lib_faults, files), "base may not include")


@case
def layers_catch_an_upward_include_by_a_relative_path():
    files = {"lib/base/a.c": '#  include "../run/r.h"\n', "lib/run/r.h": "\n"}
    return names(over(check_layers.lib_faults, files), "base may not include")


@case
def layers_catch_a_sibling_include():
    files = {"lib/tool/a.c": '#include "memory/m.h"\n', "lib/memory/m.h": "\n"}
    return names(over(check_layers.lib_faults, files), "tool may not include")


@case
def layers_catch_a_folder_without_layer():
    return names(over(check_layers.lib_faults, {"lib/utils/a.c": "\n"}), "no layer")


@case
def layers_catch_a_private_include_in_a_public_header():
    return names(over(check_layers.public_faults, {"include/uar/a.h": "#include <sqlite3.h>\n"}), "sqlite3.h")


@case
def layers_catch_an_example_that_looks_inside():
    files = {"examples/cli/main.c": '#include "base/map.h"\n', "lib/base/map.h": "\n"}
    return names(over(check_layers.example_faults, files), "base/map.h")


@case
def layers_let_a_downward_include_pass():
    files = {
        "lib/run/a.c": '#include "tool/t.h"\n#include "run/b.h"\n#include "b.h"\n#include <uar/base.h>\n#include <stdio.h>\n'
                       '// #include "runtime/no.h"\n',
        "lib/run/b.h": "\n", "lib/tool/t.h": "\n",
    }
    return over(check_layers.lib_faults, files) == []


BANNED_SAMPLES = ["strcpy(a, b);", "sprintf (a, b);", "x = strtod(a, 0);", "exit(1);", 'fprintf(stderr, "x");',
                  "getenv(a);", "localeconv();", "cJSON_Parse(a);", "cJSON_AddItemToArray(a, b);", "cJSON_Delete(a);",
                  "cJSON_InitHooks(0);", "static _Thread_local int a;", "isalpha(c);", "p = alloca(9);", "rand();",
                  "#include <threads.h>", 'snprintf(a, 9, "%.3f", d);', 'buffer_format(b, "x %g", d);']


@case
def banned_catches_each_banned_word():
    missed = [sample for sample in BANNED_SAMPLES
              if not over(check_banned.source_faults, {"lib/base/a.c": "/* x */\n%s\n" % sample})]
    for sample in missed:
        print("# missed: " + sample)
    return not missed


@case
def banned_lets_words_in_comments_strings_and_longer_names_pass():
    good = ('/* strcpy( */ // exit(1)\nconst char *a = "printf(";\nvoid f(void) { thread_exit(1); p->free(p); s->exit(1);\n'
            'cJSON_GetArraySize(a); snprintf(a, 9, "%d %s %llu 100%%", 1); assert(a); buffer_printf(b, "like %%f"); }\n')
    return over(check_banned.source_faults, {"lib/base/a.c": good}) == []


@case
def banned_catches_static_mutable_data():
    source = "static int counter; int next(void) { return ++counter; }\nint table[3] = {1};\nint f(void){static int k=3;return k++;}\n"
    faults = over_library(check_banned.data_faults, source, {})
    return names(faults, "counter") and names(faults, "table") and names(faults, "k.")


@case
def banned_catches_thread_local_data():
    return names(over_library(check_banned.data_faults, "__thread int mine; int *f(void) { return &mine; }\n", {}), "mine")


@case
def banned_catches_an_allowed_name_that_is_gone():
    return names(over_library(check_banned.data_faults, "int f(void) { return 0; }\n", {"gone": "reason"}), "gone")


@case
def banned_lets_constant_tables_pass():
    source = 'static const char *const t[] = {"a", "b"}; const char *f(int i) { return t[i]; }\n'
    return over_library(check_banned.data_faults, source, {}) == []


def long_function(lines):
    return "int f(void) {\n" + "    g();\n" * lines + "    return 0;\n}\n"


@case
def size_catches_a_long_function():
    files = {"lib/a.c": long_function(110), "tests/gates/waivers.txt": ""}
    return names(over(check_size.size_faults, files), "a.c:f: 113 lines")


@case
def size_catches_a_long_file():
    files = {"lib/a.h": "\n" * 1001, "tests/gates/waivers.txt": ""}
    return names(over(check_size.size_faults, files), "1001 lines")


@case
def size_catches_a_branchy_function():
    body = "".join("    if (x == %d) return %d;\n" % (i, i) for i in range(26))
    files = {"lib/a.c": "int f(int x) {\n%s    return 0;\n}\n" % body, "tests/gates/waivers.txt": ""}
    return names(over(check_size.size_faults, files), "complexity 27")


@case
def size_honours_a_waiver_with_a_reason():
    files = {"lib/a.c": long_function(110), "tests/gates/waivers.txt": "lib/a.c:f a table\n"}
    return over(check_size.size_faults, files) == []


@case
def size_catches_a_waiver_without_need_or_reason():
    idle = over(check_size.size_faults, {"lib/a.c": long_function(5), "tests/gates/waivers.txt": "lib/a.c:f old\n"})
    mute = over(check_size.size_faults, {"lib/a.c": long_function(110), "tests/gates/waivers.txt": "lib/a.c:f\n"})
    return names(idle, "needs no waiver") and names(mute, "no reason")


@case
def format_catches_an_unformatted_file():
    files = {"lib/a.c": "int  f( void ){return 0;}\n", ".clang-format": "BasedOnStyle: LLVM\n"}
    return names(over(check_format.format_faults, files, check_format.clang_format()), "lib/a.c")


@case
def format_lets_a_formatted_file_pass():
    files = {"lib/a.c": "int f(void) { return 0; }\n", ".clang-format": "BasedOnStyle: LLVM\n"}
    return over(check_format.format_faults, files, check_format.clang_format()) == []


HEADER = '''#ifndef UAR_A_H
#define UAR_A_H
#define UAR_API __attribute__((visibility("default")))
UAR_API int uar_there(void);
UAR_API const char *
uar_gone(int x, void (*fn)(void *));
#endif
'''


@case
def exports_catch_a_leak_and_a_missing_function():
    root = tree({"include/uar/a.h": HEADER})
    declared = check_exports.declared_functions(root, "cc")
    shutil.rmtree(root)
    source = "int uar_there(void) { return 0; }\nint uar_secret(void) { return 0; }\nint leak(void) { return 0; }\n"
    faults = over_library(lambda path: check_exports.export_faults(declared, check_exports.defined_symbols(path, True)),
                          source, shared=True)
    return (names(faults, "declared but not exported: uar_gone") and names(faults, "not declared: uar_secret")
            and names(faults, "no API: leak") and not names(faults, "uar_there"))


@case
def exports_catch_a_function_in_the_other_library():
    source = "int uar_here(void) { return 0; }\nint uar_bert_there(void) { return 0; }\n"
    declared = {"uar_here", "uar_bert_there"}

    def faults_as(library):
        return over_library(lambda path: check_exports.export_faults(declared, check_exports.defined_symbols(path, True),
                                                                     library), source, shared=True)

    return (faults_as("uar") == ["global symbol of the other library: uar_bert_there",
                                 "exported but not declared: uar_bert_there"]
            and names(faults_as("uar-bert"), "other library: uar_here"))


@case
def exports_catch_a_dependency_left_open():
    source = "extern int sqlite3_open(void); int uar_x(void) { return sqlite3_open(); }\n"
    return names(over_library(check_exports.undefined_faults, source), "sqlite3_open")


@case
def exports_catch_small_pages():
    root = tree({"a.c": "int f(void) { return 0; }\n"})
    path = os.path.join(root, "liba.so")
    subprocess.run(["cc", "-fPIC", "-shared", "-Wl,-z,max-page-size=4096", os.path.join(root, "a.c"), "-o", path], check=True)
    faults = check_exports.page_faults(path)
    shutil.rmtree(root)
    return names(faults, "4096")


@case
def exports_catch_a_cxx_runtime():
    root = tree({"a.cc": "#include <string>\nstd::string f() { return std::string(99, 'x'); }\n"})
    path = os.path.join(root, "liba.so")
    subprocess.run(["g++", "-fPIC", "-shared", os.path.join(root, "a.cc"), "-o", path], check=True)
    faults = check_exports.runtime_faults(path)
    shutil.rmtree(root)
    return names(faults, "libstdc++")


DOCUMENTED = '''#ifndef UAR_A_H
#define UAR_A_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/** A list. */
#define UAR_LIST(X) \\
    X(A, "a")
/** Things. */
typedef enum uar_thing {
#define UAR_X_ENUM(name, text) UAR_##name,
    UAR_LIST(UAR_X_ENUM)
#undef UAR_X_ENUM
    UAR_LAST /**< the last */
} uar_thing;
/** A struct. */
typedef struct uar_pair {
    int a; /**< first */
    /** Second. */
    int b;
} uar_pair;
/** A function. */
int uar_f(int x);
#ifdef __cplusplus
}
#endif
#endif
'''


@case
def headers_let_a_documented_one_pass():
    return over(check_headers.document_faults, {"include/uar/a.h": DOCUMENTED}) == []


@case
def headers_catch_each_missing_comment():
    losses = [("/** A list. */\n", "macro UAR_LIST"), (" /**< the last */", "value UAR_LAST"),
              ("/** A struct. */\n", "type uar_pair"), (" /**< first */", "field a"),
              ("    /** Second. */\n", "field b"), ("/** A function. */\n", "function uar_f"),
              ("/** Things. */\n", "type uar_thing")]
    missed = [what for comment, what in losses
              if not names(over(check_headers.document_faults, {"include/uar/a.h": DOCUMENTED.replace(comment, "")}), what)]
    for what in missed:
        print("# missed: " + what)
    return not missed


@case
def headers_catch_one_that_does_not_stand_alone():
    root = tree({"include/uar/a.h": "/** F. */\nint uar_f(uint32_t x);\n"})
    faults = check_headers.compile_faults(root, "uar/a.h", ["cc", "-std=c11", "-xc"])
    shutil.rmtree(root)
    return names(faults, "uint32_t")


@case
def headers_catch_one_that_is_no_cxx():
    root = tree({"include/uar/a.h": "/** F. */\nint uar_f(int class);\n"})
    faults = check_headers.compile_faults(root, "uar/a.h", ["g++", "-std=c++17", "-xc++"])
    shutil.rmtree(root)
    return names(faults, "class")


@case
def headers_catch_a_wrong_parameter_in_a_comment():
    root = tree({"include/uar/a.h": "/** F.\n * \\param y nothing\n */\nint uar_f(int x);\n"})
    faults = check_headers.compile_faults(root, "uar/a.h", ["clang", "-std=c11", "-Wdocumentation", "-xc"])
    shutil.rmtree(root)
    return names(faults, "parameter 'y'")


def repo_sample(text, pattern, what="x"):
    root = tree({"lib/a.c": text})
    try:
        return check_repo.scan(root, ["lib/a.c"], pattern, what)
    finally:
        shutil.rmtree(root)


@case
def repo_catches_a_path_of_a_machine():
    bad = ["/".join(["", "home", "ann", "x"]), "/".join(["", "work", "main"]), "C:" + "\\Users\\ann"]
    return all(repo_sample("// see %s\n" % path, check_repo.MACHINE) for path in bad)


@case
def repo_catches_a_registry_host():
    hosts = [".".join(["deb", "debian", "org"]), ".".join(["registry", "npmjs", "org"]), ".".join(["pypi", "org"])]
    return all(repo_sample("// https://%s/x\n" % host, check_repo.REGISTRY) for host in hosts)


@case
def repo_catches_what_is_left_for_later():
    return all(repo_sample("// %s\n" % word, check_repo.LATER) for word in ("TO" + "DO: x", "FIX" + "ME", "not " + "implemented"))


@case
def repo_lets_ordinary_words_pass():
    text = "// lib/work/x, $HOME/work, a/home/b, todos, debian, pypi, /usr/bin/env, C:\\x\n"
    return not any(repo_sample(text, pattern) for pattern in
                   (check_repo.MACHINE, check_repo.REGISTRY, check_repo.LATER, check_repo.ISSUE))


def judged(stdout, returncode, result="OK"):
    passed, failed, skipped = count.judge({"name": "t", "stdout": stdout, "returncode": returncode, "result": result})
    return passed, len(failed), len(skipped)


@case
def count_takes_each_case_of_a_program():
    tap = "1..4\nok 1 - a\nnot ok 2 - b\n# 0x1 != 0x2\nnot ok 3 # SKIP c\nok 4 - d\n# not ok - group\n"
    return judged(tap, 1, "FAIL") == (2, 1, 1)


@case
def count_takes_every_group_of_a_program():
    return judged("1..1\nok 1 - a\n1..2\nok 1 - b\nok 2 - c\n", 0) == (3, 0, 0)


@case
def count_fails_the_cases_that_a_crash_took():
    return judged("1..3\nok 1 - a\n", -11, "FAIL") == (1, 2, 0)


@case
def count_fails_a_program_that_ends_badly_after_its_last_case():
    return judged("1..1\nok 1 - a\n", 1, "FAIL") == (1, 1, 0)


@case
def count_takes_a_harness_without_tap_as_one_case():
    return (judged("fine\n", 0) == (1, 0, 0) and judged("bad\n", 1, "FAIL") == (0, 1, 0)
            and judged("", 77, "SKIP") == (0, 0, 1) and judged("", 0, "TIMEOUT") == (0, 1, 0))


def run_case(function):
    name = "gate control: " + function.__name__.replace("_", " ")
    try:
        return name, [] if function() else ["the gate did not behave as expected"]
    except Exception as error:  # a broken control is a failed control
        return name, ["%s: %s" % (type(error).__name__, error)]


if __name__ == "__main__":
    sys.exit(gatelib.report([run_case(function) for function in CASES]))
