#!/bin/sh
# Makes state-v1.db with the `uar` program of the version that wrote this schema: state_v1.sh PATH_OF_UAR OUTPUT
# The file in the repository was made once by the first build and never changes; later versions must read it.
set -eu
uar=$1
output=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/script" <<'SCRIPT'
{"events":[{"text":"Good "},{"text":"morning, Zoë."},{"usage":{"input":12,"cache_read":3,"cache_write":0,"output":4,"reasoning":0}},{"finish":"stop"}]}
SCRIPT
"$uar" --store "$work/s" --model "script:$work/script" run "Guten Morgen, 世界" --quiet
"$uar" --store "$work/s" --model "script:$work/script" --session second --user ann run "Hello" --quiet
"$uar" --store "$work/s" --model "script:$work/script" --session second --user ann run "Again" --quiet
"$uar" --store "$work/s" settings set memory.enabled false
"$uar" --store "$work/s" --owner other settings set memory.enabled true
"$uar" --store "$work/s" --session gone run "This fails" --model "script:/dev/null" --quiet || true
cp "$work/s/state/state.db" "$output"
