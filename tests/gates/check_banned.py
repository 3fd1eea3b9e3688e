#!/usr/bin/env python3
"""Gate: no banned call in lib/, no locale-dependent number format, and no static mutable data but the two allowed."""

import os
import re
import sys

import gatelib

CALLS = """
strcpy strcat sprintf vsprintf strtok strtok_r atoi atol atoll atof strtod strtof strtold alloca gets
rand srand random srandom setlocale localeconv uselocale newlocale getenv secure_getenv putenv setenv
localtime localtime_r gmtime ctime asctime strftime
printf vprintf fprintf vfprintf puts fputs putchar fputc putc perror dprintf
exit _exit _Exit quick_exit atexit abort
isalpha isdigit isalnum isspace isupper islower ispunct isprint iscntrl isgraph isxdigit isblank tolower toupper
strcasecmp strncasecmp strcoll strxfrm strerror system popen tmpfile tmpnam mktemp mkstemp
cJSON_InitHooks
""".split()
BANNED_CALL = re.compile(r"(?<![\w.>])(?:%s|cJSON_(?:Parse|Print|Add|Create|Delete)\w*)\s*\(" % "|".join(CALLS))
BANNED_WORD = re.compile(r"\b(?:_Thread_local|__thread|thread_local|__declspec\s*\(\s*thread\s*\))")
BANNED_HEADER = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(threads\.h|locale\.h|alloca\.h|ctype\.h)>", re.M)
FORMAT_CALL = re.compile(r"\b\w*(?:printf|format)\w*\s*\(")
FLOAT_FORMAT = re.compile(r"%[-+ #0']*[\d*]*(?:\.[\d*]*)?[lL]?[aefgAEFG]")


def call_span(code, opening):
    """Offset behind the parenthesis that closes the one at `opening`."""
    depth = 0
    for offset in range(opening, len(code)):
        if code[offset] == "(":
            depth += 1
        elif code[offset] == ")":
            depth -= 1
            if depth == 0:
                return offset
    return len(code)


def source_faults(root):
    faults = []
    for path in gatelib.find(root, ["lib"], (".c", ".h")):
        text = gatelib.read(root, path)
        code = gatelib.blank_comments(text)
        for pattern in (BANNED_CALL, BANNED_WORD, BANNED_HEADER):
            for match in pattern.finditer(code):
                word = match.group(0).strip().rstrip("(").strip()
                faults.append("%s:%d: banned: %s" % (path, gatelib.line_of(text, match.start()), word))
        literal = gatelib.blank_comments(text, keep_strings=True)
        for match in FORMAT_CALL.finditer(code):
            span = literal[match.end() - 1:call_span(code, match.end() - 1)]
            for string in re.findall(r'"(?:\\.|[^"\\\n])*"', span):
                if FLOAT_FORMAT.search(string.replace("%%", "")):
                    line = gatelib.line_of(text, match.start())
                    faults.append("%s:%d: a number format that follows the locale: %s" % (path, line, string))
    return faults


def allowed_data(root):
    """{symbol: reason} of tests/gates/static_data.txt."""
    allowed = {}
    for line in gatelib.read(root, os.path.join("tests", "gates", "static_data.txt")).splitlines():
        if line.strip() and not line.startswith("#"):
            name, reason = line.split(None, 1)
            allowed[name] = reason
    return allowed


SYMBOL = re.compile(r"^[0-9a-f]+ .{7} (\S+)\t[0-9a-f]+ +(?:\.hidden +)?(\S+)$")
WRITABLE = re.compile(r"^(?:\.(?:data|bss|tdata|tbss)(?:$|\.)|\*COM\*|\.ldata|\.lbss)")


def mutable_symbols(objdump_table):
    """Names of data symbols in writable sections. Tables that only the loader writes (.data.rel.ro) are constant."""
    names = []
    for line in objdump_table.splitlines():
        match = SYMBOL.match(line)
        if match and WRITABLE.match(match.group(1)) and not match.group(1).startswith(".data.rel.ro"):
            if match.group(2) != match.group(1):
                names.append(match.group(2))
    return names


def data_faults(archive, allowed):
    status, table = gatelib.run(["objdump", "-t", archive])
    if status != 0:
        return ["objdump failed: " + table.strip()]
    names = mutable_symbols(table)
    faults = []
    for name in names:
        plain = re.sub(r"\.\d+$", "", name)
        if plain not in allowed:
            faults.append("static mutable data: %s" % name)
    for name in allowed:
        if name not in [re.sub(r"\.\d+$", "", n) for n in names]:
            faults.append("static_data.txt allows %s, which doesn't exist" % name)
    if len(allowed) > 2:
        faults.append("static_data.txt allows %d; the design names two" % len(allowed))
    return faults


if __name__ == "__main__":
    ROOT, BUILD = gatelib.arguments()
    ARCHIVE = os.path.join(BUILD, "lib", "libuar_internal.a") if BUILD else None
    sys.exit(gatelib.report([
        ("banned: no banned call or word in lib", source_faults(ROOT)),
        ("banned: no static mutable data but the two allowed",
         data_faults(ARCHIVE, allowed_data(ROOT)) if ARCHIVE else None),
        ("banned: no static mutable data of its own in libuar-bert",
         data_faults(os.path.join(BUILD, "lib", "bert", "libuar_bert_internal.a"), {}) if BUILD else None),
    ]))
