#!/usr/bin/env python3
"""
Counts test cases, exactly: reads the log of one `meson test` run and the TAP that each program printed.

A program that ends badly without a failed case (a crash, a sanitizer's report, a timeout) is one failed case, and so is
each case that its plan promised and that never came. Adds `passed failed skipped` to the totals file, prints what failed.
usage: count.py LABEL TESTLOG_JSON TOTALS_FILE
"""

import json
import os
import re
import sys

PLAN = re.compile(r"^1\.\.(\d+)")
RESULT = re.compile(r"^(not )?ok(?:\s+\d+)?\s*(?:-\s*)?(.*)$")


def count(output):
    """(passed, [failed names], [skipped names], promised) of one program's TAP."""
    passed, failed, skipped, promised, plans = 0, [], [], 0, 0
    for line in output.splitlines():
        plan = PLAN.match(line)
        if plan:
            promised += int(plan.group(1))
            plans += 1
            continue
        result = RESULT.match(line)
        if not result:
            continue
        name = result.group(2).strip()
        # cmocka writes a skipped case as "not ok 3 # SKIP name".
        if re.search(r"#\s*SKIP\b", name, re.I):
            skipped.append(re.sub(r"#\s*SKIP\b", "", name, flags=re.I).strip(" -"))
        elif result.group(1):
            failed.append(name)
        else:
            passed += 1
    return passed, failed, skipped, promised if plans else None


def judge(test):
    """(passed, [failures], [skipped]) of one entry of meson's log."""
    output = test.get("stdout") or ""
    passed, failed, skipped, promised = count(output)
    status = test.get("returncode")
    seen = passed + len(failed) + len(skipped)
    if promised is None and seen == 0:
        # A harness of its own, without TAP: one case. 77 is the usual word for "skipped".
        if status == 77:
            return 0, [], [test["name"]]
        if test.get("result") == "OK":
            return 1, [], []
        return 0, ["%s (%s, status %s)" % (test["name"], test.get("result"), status)], []
    missing = max(0, (promised or 0) - seen)
    failed += ["a case that never ran (%s, status %s)" % (test.get("result"), status)] * missing
    if status != 0 and not failed:
        failed.append("the program ended with status %s (%s)" % (status, test.get("result")))
    return passed, failed, skipped


TELLING = ("UAR_", "CMOCKA_", "LC_ALL", "LOCPATH", "ASAN_", "UBSAN_", "TSAN_", "CI")


def again(test):
    """One line that runs it again."""
    environment = ["%s=%s" % item for item in sorted((test.get("env") or {}).items()) if item[0].startswith(TELLING)]
    return " ".join(environment + test.get("command", []))


def main():
    label, log, totals = sys.argv[1:4]
    passed, failed, skipped = 0, 0, 0
    tests = []
    if os.path.exists(log):
        with open(log, encoding="utf-8") as lines:
            tests = [json.loads(line) for line in lines if line.strip()]
    if not tests:
        print("%s: no test ran" % label)
        failed = 1
    for test in tests:
        good, bad, left = judge(test)
        passed, failed, skipped = passed + good, failed + len(bad), skipped + len(left)
        for name in bad:
            print("FAILED [%s] %s: %s" % (label, test["name"], name))
        for name in left:
            print("skipped [%s] %s: %s" % (label, test["name"], name))
        if bad:
            print("  again: " + again(test))
            text = (test.get("stdout") or "") + (test.get("stderr") or "")
            kept = [line for line in text.splitlines() if not line.startswith("ok ")]
            print("\n".join("  | " + line for line in kept[-60:]))
        for seed in sorted(set(re.findall(r"^#?\s*(seed\b.*)$", test.get("stdout") or "", re.I | re.M))):
            print("[%s] %s: %s" % (label, test["name"], seed))
    print("%s: %d passed, %d failed, %d skipped" % (label, passed, failed, skipped), flush=True)
    with open(totals, "a", encoding="utf-8") as file:
        file.write("%d %d %d\n" % (passed, failed, skipped))


if __name__ == "__main__":
    main()
