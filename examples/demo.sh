#!/bin/sh
# Plays what libuar is for, with its real parts: memory that survives a kill, stays with its user and says why it found
# something, tools that run in parallel, an approval, a streamed answer. Needs no network and no model. Checks itself: status 1 where a step didn't
# show what it must.
# usage: examples/demo.sh BUILD_DIR        (BUILD_DIR holds examples/uar; examples/run.sh builds it)
set -eu
[ $# -eq 1 ] || {
    echo "usage: $0 BUILD_DIR" >&2
    exit 2
}
uar=$(cd "$1" && pwd)/examples/uar
home=$(mktemp -d "${TMPDIR:-/tmp}/uar-demo.XXXXXX")
store=$home/store
chat=
cleanup() {
    [ -z "$chat" ] || kill -KILL "$chat" 2>/dev/null || true
}
trap cleanup EXIT
trap '' PIPE # a program that went away too early is noticed by what it didn't say
cd "$home"
unset UAR_MEMORY__ENABLED UAR_MEMORY__AUTO_CAPTURE UAR_MEMORY__INJECT_CONTEXT UAR_MEMORY__MAX_CONTEXT_TOKENS

title() { printf '\n== %s\n' "$*"; }
shown() { sed 's/^/   /' "$1"; }
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
# must FILE TEXT: the step showed it.
must() { grep -qF -- "$2" "$1" || fail "'$2' is missing"; }
must_not() { ! grep -qF -- "$2" "$1" || fail "'$2' must not be there"; }
wait_for() {
    tries=0
    until grep -qF -- "$2" "$1" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || fail "'$2' didn't come"
        sleep 0.1
    done
}

title "1. Ada tells two things to a chat with memory (no model: the offline one answers)"
mkfifo talk
"$uar" --store "$store" --user ada --memory chat <talk >chat.out 2>chat.err &
chat=$!
exec 3>talk
for line in "My name is Ada and I live in Oslo." "I am allergic to peanuts."; do
    echo "   ada> $line"
    echo "$line" >&3
    wait_for chat.out "$line"
    wait_for chat.err "memory add"
done
tries=0
until "$uar" --store "$store" --user ada memory list >facts.out 2>/dev/null && grep -q peanuts facts.out; do
    tries=$((tries + 1))
    [ $tries -lt 50 ] || fail "the second thing was not remembered"
    sleep 0.1
done
shown facts.out

title "2. The process is killed with SIGKILL while it runs"
kill -0 "$chat" 2>/dev/null || fail "the chat isn't running"
kill -KILL "$chat"
status=0
wait "$chat" 2>/dev/null || status=$?
chat=
exec 3>&-
[ "$status" -eq 137 ] || fail "the chat ended with status $status, not by the signal"
echo "   gone (status $status)"

title "3. A new process, another session: it recalls, with source and date"
echo "   ada> Where do I live, and what am I allergic to?"
"$uar" --store "$store" --user ada --session tomorrow --memory run "Where do I live, and what am I allergic to?" \
    >recall.out 2>recall.err || fail "the run ended with status $?"
shown recall.out
must recall.out "Oslo"
must recall.out "peanuts"
must recall.out "$(date -u +%Y)-"

title "4. Bob asks the same: nothing of Ada's reaches him"
"$uar" --store "$store" --user bob --memory run "Where does Ada live, and what is she allergic to?" >bob.out 2>bob.err ||
    fail "the run ended with status $?"
shown bob.out
must_not bob.out "Oslo"
must_not bob.out "peanuts"
must bob.out "not a language model"

title "5. Ada asks her memory herself: a hit says why it was found, a graph how things hang together"
echo "   ada> uar memory search \"What am I allergic to?\" --json --limit 1"
"$uar" --store "$store" --user ada memory search "What am I allergic to?" --json --limit 1 >why.out ||
    fail "the search ended with status $?"
sed 's/.*"content":"\([^"]*\)".*"score":\([0-9.]*\).*"why":\({[^}]*}\).*/\1\
score \2, made of \3/
s/\(\.[0-9][0-9]\)[0-9]*/\1/g' why.out >why.txt
shown why.txt
must why.txt "peanuts"
must why.txt '"lexical":0.'
graph() { "$uar" --store "$store" --user ada memory graph "$@" >graph.out || fail "memory graph $1 ended with status $?"; }
graph add Ada --kind person
graph add Acme --kind company
graph add Bo --kind person
graph relate Ada "works at" Acme
graph relate Bo leads Acme
echo "   ada> uar memory graph path Ada Bo"
graph path Ada Bo
shown graph.out
must graph.out "Ada — works at → Acme ← leads — Bo"

title "6. A scripted model calls two tools in parallel; one needs an approval"
cat >tools.json <<'END'
[{"name": "weather", "description": "Current weather of a city",
  "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
  "class": "read_only",
  "command": ["sh", "-c", "touch weather.here; n=0; until [ -e mail.here ] || [ $n -ge 100 ]; do sleep 0.1; n=$((n+1)); done; [ -e mail.here ] && echo '{\"celsius\": 4}'"]},
 {"name": "mail", "description": "Send a mail",
  "input_schema": {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}}, "required": ["to", "text"]},
  "class": "effect", "approval": "ask",
  "command": ["sh", "-c", "cat >>sent.jsonl; touch mail.here; n=0; until [ -e weather.here ] || [ $n -ge 100 ]; do sleep 0.1; n=$((n+1)); done; [ -e weather.here ] && echo sent"]}]
END
cat >model.jsonl <<'END'
{"events":[{"tool_call":{"index":0,"id":"call-1","name":"weather","args_delta":"{\"city\":\"Oslo\"}"}},{"tool_call":{"index":1,"id":"call-2","name":"mail","args_delta":"{\"to\":\"ada\",\"text\":\"Take a coat\"}"}},{"finish":"tool_calls"}]}
{"events":[{"text":"Four degrees "},{"sleep_ms":200},{"text":"in Oslo: "},{"sleep_ms":200},{"text":"I wrote you a mail about it."},{"usage":{"input":120,"cache_read":0,"cache_write":0,"output":14,"reasoning":0}},{"finish":"stop"}]}
END
echo "   ada> Do I need a coat? Write me a mail if so."
# On a real terminal the question is asked; here a pseudo terminal types the y. Without one, --approve auto says yes.
if command -v script >/dev/null 2>&1; then
    mkfifo keys
    { exec 3>keys; wait_for screen "Allow it?"; echo y >&3; wait_for screen "about it."; sleep 0.3; exec 3>&-; } &
    TERM=dumb script -qefc "'$uar' --store '$store' --user ada --session coat --model script:model.jsonl \
        run 'Do I need a coat? Write me a mail if so.' --tools tools.json" screen <keys >/dev/null || fail "the run failed"
    wait
    tr -d '\r' <screen | grep -v '^Script ' >coat.out
    must coat.out 'Tool mail asks to run with {"to":"ada","text":"Take a coat"}'
else
    "$uar" --store "$store" --user ada --session coat --model script:model.jsonl \
        run "Do I need a coat? Write me a mail if so." --tools tools.json --approve auto >coat.out 2>&1 ||
        fail "the run failed"
    must coat.out "approval needed: mail"
fi
shown coat.out
must coat.out "[tool weather"
must coat.out 'celsius'
must coat.out "Four degrees in Oslo: I wrote you a mail about it."
[ "$(wc -l <sent.jsonl)" -eq 1 ] || fail "the mail wasn't sent once"
echo "   (each tool waits for the other's file, so they did run side by side)"

title "7. All of it is in the store"
"$uar" --store "$store" --user ada sessions show coat >messages.out || fail "the session can't be read"
shown messages.out
must messages.out '[calls weather {"city":"Oslo"}]'
"$uar" --store "$store" --user ada runs list >runs.out || fail "the runs can't be read"
shown runs.out
must runs.out "done"

title "What to read next"
cat <<END
   The stores of this demonstration: $store/state/state.db (sessions, runs, settings)
                                     $store/memory/memory.db (memory)
   Look around:   $uar --store $store --user ada memory list
   By meaning:    sh examples/fetch_model.sh, then $uar --store $store --user ada memory reindex
                  $uar --store $store --user ada memory search "Which foods are bad for me?"
   Events:        $uar --store $store --user ada --memory run "Where do I live?" --json
   A real model:  OPENAI_API_KEY=... $uar --model openai:https://api.openai.com/v1#MODEL --memory chat
   A local one:   $uar --model openai:http://127.0.0.1:8080/v1#MODEL --memory chat
   The code:      examples/quickstart.c (a whole app in 70 lines), examples/memory.c (a memory alone), examples/cli (this
                  program), include/uar (the API)
END
