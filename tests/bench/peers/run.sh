#!/bin/sh
# The same facts into libuar's memory, the official memory server and mem0: see README.md beside this file.
# usage: sh tests/bench/peers/run.sh [BUILD_DIR]     (default: a release build in out/bench)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
server='@modelcontextprotocol/server-memory@2026.8.31'
mem0='mem0ai@3.3.1'
sizes=${UAR_PEERS_SIZES:-1000 10000}

say() { echo "peers: $*" >&2; }

build=${1:-$root/out/bench}
if [ ! -f "$build/build.ninja" ]; then
    meson setup "$build" "$root" --buildtype=release -Darchive=disabled >/dev/null
fi
ninja -C "$build" tests/bench/peers/bench_peers >/dev/null

work=$(mktemp -d "${TMPDIR:-/tmp}/uar-peers.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# A fact a line. The number at the end is what a search asks for.
facts() {
    awk -v n="$1" 'BEGIN {
        split("Ada Bela Chidi Dora Emre Fatma Goran Hana Ivo Jun Kofi Lena Mika Noor Omar Pia", who, " ")
        split("Oslo Porto Quito Riga Sofia Tunis Ulm Varna Wells Yalta Zadar Accra Bern Cairo", city, " ")
        split("baker pilot nurse clerk diver judge tailor miner actor farmer guide welder", job, " ")
        for (i = 1; i <= n; i++)
            printf "%s of %s works as a %s since %d and keeps locker POL%06d\n", who[i * 7 % 16 + 1],
                city[i * 11 % 14 + 1], job[i * 5 % 12 + 1], 1970 + i % 50, i
    }'
}

# Names of packages that node can use, or nothing.
fetch() {
    command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || { say "skipped, no node and npm: the other memories"; return 1; }
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || { say "skipped, node is older than 20: the other memories"; return 1; }
    peers=${UAR_PEERS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/uar-peers}
    mkdir -p "$peers"
    [ -f "$peers/package.json" ] || echo '{"private":true}' >"$peers/package.json"
    (cd "$peers" && npm install --no-audit --no-fund --save-exact "$@" >"$work/npm.log" 2>&1) && return 0
    say "skipped, npm can't fetch $*: $(grep -m 1 -i 'error' "$work/npm.log" || echo 'see npm')"
    return 1
}

# Rows: peer, facts, ms of an add, of a search, of a question; searches that found their fact of those that were made.
# Or: "at once", peer, writes, how many are there, how.
: >"$work/rows"
for n in $sizes; do
    facts "$n" >"$work/facts.$n"
    say "libuar, $n facts"
    "$build/tests/bench/peers/bench_peers" "$work/ours.$n.db" "$work/facts.$n" >>"$work/rows"
done
"$build/tests/bench/peers/bench_peers" "$work/once.db" >>"$work/rows"

# Nothing here speaks to anybody but this machine.
MEM0_TELEMETRY=false
HOME_BEFORE=$HOME
export MEM0_TELEMETRY
if fetch "$server"; then
    for n in $sizes; do
        say "$server, $n facts"
        node "$here/server.mjs" "$peers" "$work/server.$n.jsonl" "$work/facts.$n" >>"$work/rows" || say "it failed"
    done
    node "$here/server.mjs" "$peers" "$work/server.once.jsonl" >>"$work/rows" || say "it failed"
fi
if fetch "$mem0"; then
    (cd "$peers" && node -e 'new (require("better-sqlite3"))(":memory:")' 2>/dev/null) ||
        (cd "$peers" && npm rebuild better-sqlite3 >"$work/npm.log" 2>&1) || true
    if (cd "$peers" && node -e 'new (require("better-sqlite3"))(":memory:")' 2>/dev/null); then
        HOME=$work # where it keeps its own settings
        export HOME
        for n in $sizes; do
            say "$mem0, $n facts"
            node "$here/mem0.mjs" "$peers" "$work/mem0.$n" "$work/facts.$n" >>"$work/rows" || say "it failed"
        done
        node "$here/mem0.mjs" "$peers" "$work/mem0.once" >>"$work/rows" || say "it failed"
        HOME=$HOME_BEFORE
    else
        say "skipped, its SQLite can't be compiled here: $mem0"
    fi
fi

echo "| memory | facts | ms an add | ms a search | ms a question | found |"
echo "|---|---:|---:|---:|---:|---:|"
awk -F '\t' '$1 != "at once" { printf "| %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5, $6 }' "$work/rows"
echo
echo "| memory | writes at once | there afterwards | by |"
echo "|---|---:|---:|---|"
awk -F '\t' '$1 == "at once" { printf "| %s | %s | %s | %s |\n", $2, $3, $4, $5 }' "$work/rows"
