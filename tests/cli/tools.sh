#!/bin/sh
# Tools: their file, their processes, their approvals.
. "$(dirname "$0")/tap.inc"

# tool NAME 'SHELL TEXT' [more fields]
tool() {
    printf '{"name":"%s","description":"a tool","input_schema":{"type":"object"},"command":["sh","-c","%s"]%s}' \
        "$1" "$2" "${3:-}"
}
# call_line CALL:TOOL:ARGUMENTS ... : a model call that calls tools
call_line() {
    printf '{"events":['
    index=0
    for each in "$@"; do
        rest=${each#*:}
        printf '{"tool_call":{"index":%s,"id":"%s","name":"%s","args_delta":"%s"}},' $index "${each%%:*}" \
            "${rest%%:*}" "$(printf '%s' "${rest#*:}" | sed 's/\\/\\\\/g; s/"/\\"/g')"
        index=$((index + 1))
    done
    printf '{"finish":"tool_calls"}]}\n'
}
event() { grep "\"kind\":\"$1\"" out | grep -F "\"call\":\"$2\""; }
event_has() { event "$1" "$2" | grep -qF -- "$3"; }

printf '[%s,%s,%s,%s]' \
    "$(tool weather 'cat >seen; echo {\\\"celsius\\\":4}' ',"class":"read_only"')" \
    "$(tool words 'echo plain words')" \
    "$(tool broken 'echo first >&2; echo no such city >&2; exit 3')" \
    "$(tool quiet ':')" >tools.json
{ call_line 'c1:weather:{"city":"Oslo"}' 'c2:words:{}' 'c3:broken:{}' 'c4:quiet:{}'; answer done; } >four.jsonl

it "a tool gets its arguments as JSON on stdin and answers on stdout"
uar --json --model script:four.jsonl run "Hi" --tools tools.json
want code 0
want json_lines out
want event_has ToolStart c1 '"tool":"weather","arguments":{"city":"Oslo"}'
want event_has ToolEnd c1 '"ok":true,"result":{"celsius":4}'
want file_is seen '{"city":"Oslo"}'
end

it "output that isn't JSON is a text"
want event_has ToolEnd c2 '"ok":true,"result":"plain words"'
want event_has ToolEnd c4 '"ok":true,"result":""'
end

it "another exit status is a failed call with the end of stderr as its reason"
want event_has ToolEnd c3 '"ok":false'
want event_has ToolEnd c3 'exit status 3: first no such city'
end

it "a tool never sees the keys of model services"
new_store
printf '[%s]' "$(tool look 'echo \\\"$OPENAI_API_KEY$PLAIN\\\"')" >look.json
{ call_line 'c1:look:{}'; answer done; } >look.jsonl
OPENAI_API_KEY=sesame PLAIN=seen uar --json --model script:look.jsonl run "Hi" --tools look.json
want code 0
want event_has ToolEnd c1 '"result":"seen"'
end

it "output with a key given twice is a text, not a failure"
new_store
printf '[%s]' "$(tool twice 'echo {\\\"a\\\":1,\\\"a\\\":2}')" >twice.json
{ call_line 'c1:twice:{}'; answer done; } >twice.jsonl
uar --json --model script:twice.jsonl run "Hi" --tools twice.json
want event_has ToolEnd c1 '"ok":true'
end

it "numbers of a schema keep all their digits"
new_store
printf '[{"name":"big","description":"d","input_schema":{"type":"object","properties":{"n":{"const":9007199254740993}}},"command":["true"]}]' >big.json
{ call_line 'c1:big:{"n":9007199254740993}' 'c2:big:{"n":9007199254740992}'; answer done; } >big.jsonl
uar --json --model script:big.jsonl run "Hi" --tools big.json
want event_has ToolEnd c1 '"ok":true'
want event_has ToolEnd c2 '"ok":false'
end

it "calls of one turn run at the same time"
new_store
printf '[%s,%s]' "$(tool left 'touch left; i=0; while [ ! -e right ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; [ -e right ]')" \
    "$(tool right 'touch right; i=0; while [ ! -e left ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; [ -e left ]')" >both.json
{ call_line 'c1:left:{}' 'c2:right:{}'; answer done; } >both.jsonl
uar --json --model script:both.jsonl run "Hi" --tools both.json
want code 0
want event_has ToolEnd c1 '"ok":true'
want event_has ToolEnd c2 '"ok":true'
end

it "a tool past its deadline is ended with all that it started"
new_store
printf '[%s]' "$(tool slow 'sleep 30 & echo $! >child; sleep 30' ',"timeout_ms":500')" >slow.json
{ call_line 'c1:slow:{}'; answer done; } >slow.jsonl
uar --json --model script:slow.jsonl run "Hi" --tools slow.json
want code 0
want event_has ToolEnd c1 '"code":"UAR_E_TIMEOUT"'
want test -s child
# Nobody may have waited for it yet: a zombie is gone too.
gone() { ! kill -0 "$(cat child)" 2>/dev/null || grep -q '^State:.Z' "/proc/$(cat child)/status"; }
sleep 0.2
want gone
end

it "a cancelled run ends its tools"
new_store
rm -f child
printf '[%s]' "$(tool slow 'trap : TERM; sleep 30 & echo $! >child; while :; do sleep 1; done')" >stubborn.json
"$UAR" --store "$STORE" --json --model script:slow.jsonl run "Hi" --tools stubborn.json >out 2>err &
pid=$!
want wait_for child ""
sleep 0.2
kill -INT $pid
wait $pid
code=$?
want code 4
want gone
end

it "a second Ctrl-C ends the program and its tools at once"
new_store
rm -f child
printf '[%s]' "$(tool slow 'trap : TERM INT; echo $$ >child; while :; do sleep 1; done')" >deaf.json
"$UAR" --store "$STORE" --json --model script:slow.jsonl run "Hi" --tools deaf.json >out 2>err &
pid=$!
want wait_for child ""
sleep 0.2
kill -INT $pid
kill -INT $pid
wait $pid
code=$?
want code 4
sleep 0.2
want gone
end

it "a tool that leaves something running behind it answers all the same"
new_store
printf '[%s]' "$(tool slow 'sleep 5 & echo started')" >behind.json
begun=$(date +%s)
uar --json --model script:slow.jsonl run "Hi" --tools behind.json
want code 0
want event_has ToolEnd c1 '"result":"started"'
want test $(($(date +%s) - begun)) -lt 4
end

it "a program that isn't there is a failed call"
new_store
printf '[{"name":"slow","description":"d","input_schema":{"type":"object"},"command":["./no-such-program"]}]' >absent.json
uar --json --model script:slow.jsonl run "Hi" --tools absent.json
want code 0
want event_has ToolEnd c1 "can't be started"
end

it "output without end is cut off at 64 MB"
new_store
printf '[%s]' "$(tool slow 'yes')" >endless.json
uar --json --model script:slow.jsonl run "Hi" --tools endless.json
want code 0
want event_has ToolEnd c1 'the tool wrote more than 64 MB'
end

printf '[%s]' "$(tool slow 'touch ran; echo fine' ',"approval":"ask"')" >ask.json

it "--approve auto runs what needs approval, after saying so"
new_store
uar --json --model script:slow.jsonl run "Hi" --tools ask.json --approve auto
want code 0
want event_has ToolCallApprovalRequired c1 '"tool":"slow","arguments":{}'
want event_has ToolCallApproved c1 '"reason":'
want event_has ToolEnd c1 '"ok":true'
want test -e ran
end

it "--approve deny doesn't run it, and the run goes on"
new_store
rm -f ran
uar --json --model script:slow.jsonl run "Hi" --tools ask.json --approve deny
want code 0
want event_has ToolCallDenied c1 '"reason":'
want event_has ToolEnd c1 '"ok":false'
want test ! -e ran
want out_has '"kind":"RunDone"'
end

it "without a terminal there is nobody to ask: denied, with a line on stderr"
new_store
uar --quiet --model script:slow.jsonl run "Hi" --tools ask.json
want code 0
want err_has "tool 'slow' was denied: there is no terminal to ask on"
want err_lines 1
want test ! -e ran
uar --json --model script:slow.jsonl run "Hi" --tools ask.json
want json_lines err
end

it "an unknown rule of approval is refused"
uar run "Hi" --approve always
want code 2
want err_has "--approve 'always'"
end

if command -v script >/dev/null 2>&1; then
    it "on a terminal the tool and its arguments are shown and y runs it"
    new_store
    rm -f ran
    { call_line 'c1:slow:{"text":"\u001b[31mred"}'; answer done; } >shown.jsonl
    new_screen
    { wait_for screen "Allow it?"; echo perhaps; echo y; wait_for screen status; } |
        uar_terminal --model script:shown.jsonl run Hi --tools ask.json
    screen_status
    want out_has 'Tool slow asks to run with {"text":"\u001b[31mred"}'
    want out_has "Allow it? [y/n]"
    want code 0
    want test -e ran
    end

    it "on a terminal n denies it"
    new_store
    rm -f ran
    new_screen
    { wait_for screen "Allow it?"; echo n; wait_for screen status; } | uar_terminal --model script:shown.jsonl run Hi --tools ask.json
    screen_status
    want out_has "the user said no"
    want code 0
    want test ! -e ran
    end
else
    skip "on a terminal the tool and its arguments are shown and y runs it" "no script program"
    skip "on a terminal n denies it" "no script program"
fi

# refused 'FILE TEXT' 'what stderr says'
refused() {
    it "a tools file is refused: $2"
    printf '%s' "$1" >wrong.json
    uar run "Hi" --tools wrong.json
    want code 2
    want err_has "wrong.json"
    want err_has "$2"
    want err_lines 1
    want out_empty
    end
}
good='"description":"d","input_schema":{"type":"object"},"command":["true"]'
refused '[
 {"name": }
]' 'wrong.json:2:11: not JSON'
refused '[]x' 'not JSON'
refused '{"name":"f"}' 'must be a JSON array'
refused '["f"]' 'tool 1: must be an object'
refused "[{$good}]" 'tool 1: "name" is missing'
refused "[{\"name\":\"a b\",$good}]" 'tool 1: "name" must be'
refused "[{\"name\":\"f\",$good},{\"name\":\"f\",$good}]" 'tool "f": "name" is that of an earlier tool'
refused "[{\"name\":\"f\",$good,\"colour\":1}]" 'tool "f": "colour" is no field of a tool'
refused "[{\"name\":\"f\",\"name\":\"f\",$good}]" 'tool "f": "name" is given twice'
refused '[{"name":"f","input_schema":{},"command":["true"]}]' 'tool "f": "description" is missing'
refused '[{"name":"f","description":"d","input_schema":"x","command":["true"]}]' 'tool "f": "input_schema" must be'
refused "[{\"name\":\"f\",$good,\"class\":\"safe\"}]" 'tool "f": "class" must be read_only, idempotent or effect'
refused "[{\"name\":\"f\",$good,\"approval\":true}]" 'tool "f": "approval" must be auto or ask'
refused "[{\"name\":\"f\",$good,\"timeout_ms\":0.5}]" 'tool "f": "timeout_ms" must be a whole number'
refused '[{"name":"f","description":"d","input_schema":{}}]' 'tool "f": "command" is missing'
refused '[{"name":"f","description":"d","input_schema":{},"command":[]}]' 'tool "f": "command" must be an array'
refused '[{"name":"f","description":"d","input_schema":{},"command":["a",1]}]' 'tool "f": "command" item 2 must be text'

it "a schema that can't be checked is refused with the tool's name"
printf '[{"name":"f","description":"d","input_schema":{"type":"object","properties":7},"command":["true"]}]' >wrong.json
uar run "Hi" --tools wrong.json
want code 2
want err_has "f"
want err_lines 1
end

it "a tools file that isn't there is named"
uar run "Hi" --tools nowhere.json
want code 2
want err_has "nowhere.json"
end

plan
