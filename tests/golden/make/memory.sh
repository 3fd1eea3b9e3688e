#!/bin/sh
# Makes memory-v1.db or memory-v2.db with the `uar` program of the version that wrote this schema: memory.sh PATH_OF_UAR OUTPUT
# The files in the repository were made once and never change.
set -eu
uar=$1
output=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$uar" --store "$work/s" memory add "Alice likes green tea" >/dev/null
"$uar" --store "$work/s" memory add "The project meets on Tuesdays" --fact project/meeting >/dev/null
"$uar" --store "$work/s" memory add "The project meets on Fridays" --fact project/meeting >/dev/null
"$uar" --store "$work/s" --user ann memory add "Ann ist am Bodensee geboren" >/dev/null
cp "$work/s/memory/memory.db" "$output"
