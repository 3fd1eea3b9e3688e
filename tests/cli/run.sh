#!/bin/sh
# uar run: prompts, events, ends.
. "$(dirname "$0")/tap.inc"

it "the answer goes to stdout, with one line feed at its end"
answer "Hello there" >hello.jsonl
uar --model script:hello.jsonl run "Hi"
want code 0
want out_is "Hello there"
want out_lines 1
end

it "--quiet leaves stderr empty"
uar --quiet --model script:hello.jsonl run "Hi"
want code 0
want err_empty
end

it "the offline model needs no model and says that it is none"
uar run "What do you know?"
want code 0
want out_has "not a language model"
end

it "events are one JSON object a line with the keys that programs read"
new_store
uar --json --user ada --session s1 --agent helper --model script:hello.jsonl run "Hi"
want code 0
want err_empty
want json_lines out
want same "$(head -n 1 out | sed 's/"run":"[^"]*"/"run":"R"/; s/"time_ms":[0-9]*/"time_ms":T/')" \
    '{"id":1,"run":"R","user":"ada","session":"s1","agent":"helper","parent":null,"time_ms":T,"kind":"RunStart","data":{"input":"Hi","model":"script"}}'
want out_has '"kind":"ChatDelta","data":{"message":"'
want out_has '"text":"Hello there"}}'
want same "$(tail -n 1 out | grep -c '"kind":"RunDone","data":{"message":"[^"]*","usage":{')" 1
end

it "event ids are 1, 2, 3 without a hole"
want same "$(sed 's/^{"id":\([0-9]*\),.*/\1/' out | tr '\n' ' ')" "$(seq 1 "$(wc -l <out)" | tr '\n' ' ')"
end

it "run --events json and run --json print the same kinds"
sed 's/.*"kind":"\([A-Za-z]*\)".*/\1/' out >kinds
new_store
uar --model script:hello.jsonl run "Hi" --events json
want file_is kinds "$(sed 's/.*"kind":"\([A-Za-z]*\)".*/\1/' out)"
end

it "the stored answer is what the deltas said, byte for byte"
new_store
printf '{"events":[{"text":"Gr\\u00fc"},{"text_base64":"w58="},{"text_base64":"IPCf"},{"text_base64":"mYI="},{"finish":"stop"}]}\n' >parts.jsonl
uar --model script:parts.jsonl run "Hi"
want out_is "Grüß 🙂"
uar --json sessions show default
want out_has '"text":"Grüß 🙂"'
end

it "arguments that span lines stay inside one line of events"
new_store
printf '%s\n' '[{"name":"f","description":"d","input_schema":{"type":"object"},"command":["sh","-c","printf \"{\\\\n \\\\\"a\\\\\":\\\\n1}\\\\n\""]}]' >lines.json
printf '%s\n' '{"events":[{"tool_call":{"index":0,"id":"c1","name":"f","args_delta":"{\n \"x\":\n 1}"}},{"finish":"tool_calls"}]}' \
    "$(answer done)" >lines.jsonl
uar --json --model script:lines.jsonl run "Hi" --tools lines.json
want code 0
want json_lines out
want out_has '"kind":"ToolEnd"'
uar --json sessions show default
want json_lines out
end

it "a prompt of - is read from stdin, without its last line feed"
new_store
uar_in "two
lines
" --json --model script:hello.jsonl run -
want code 0
want out_has '"input":"two\nlines"'
end

it "a prompt that begins with a dash stands behind --"
uar --json --model script:hello.jsonl run -- "--help"
want code 0
want out_has '"input":"--help"'
end

it "an empty prompt is a usage error"
uar run ""
want code 2
want err_has "the prompt is empty"
uar_in "" run -
want code 2
end

it "a prompt that isn't UTF-8 is refused with one line"
uar run "$(printf 'ab\303(')"
want code 2
want err_has "the prompt is not valid UTF-8 at byte 3"
want err_lines 1
want out_empty
end

it "a prompt of 10 MB works"
new_store
head -c 10000000 /dev/zero | tr '\0' 'a' >large
"$UAR" --store "$STORE" --model script:hello.jsonl run - <large >out 2>err
code=$?
want code 0
want out_is "Hello there"
end

it "--script-from begins at a line"
{ answer one; answer two; } >two.jsonl
uar --model script:two.jsonl --script-from 2 run "Hi"
want code 0
want out_is "two"
end

it "a script past its end fails the run with its code"
printf '{"events":[{"tool_call":{"index":0,"id":"c","name":"none","args_delta":"{}"}},{"finish":"tool_calls"}]}\n' >end.jsonl
uar --json --model script:end.jsonl run "Hi"
want code 1
want out_has '"kind":"RunFailed","data":{"code":"UAR_E_SCRIPT_EXHAUSTED"'
want json_lines err
want err_has '"code":"UAR_E_SCRIPT_EXHAUSTED"'
end

it "a model's error fails the run: exit 1, one line on stderr"
printf '{"events":[{"text":"Par"},{"error":{"code":"UAR_E_MODEL","message":"no such model","retryable":false}}]}\n' >fail.jsonl
uar --quiet --model script:fail.jsonl run "Hi"
want code 1
want out_is "Par"
want err_has "no such model"
want err_lines 1
end

it "a cut stream is tried again and its text is void"
new_store
{ printf '{"events":[{"text":"Half of it"}]}\n'; answer "Whole"; } >cut.jsonl
uar --json --model script:cut.jsonl run "Hi"
want code 0
want out_has '"kind":"AttemptSuperseded"'
uar --json sessions show default
want out_has '"text":"Whole"'
want out_lacks "Half"
end

it "a script that isn't there, or is broken, is named with its line"
uar --model script:nowhere.jsonl run "Hi"
want code 2
want err_has "nowhere.jsonl"
{ answer fine; echo '{"events":[{"text":}]}'; } >broken.jsonl
uar --model script:broken.jsonl run "Hi"
want code 2
want err_has "line 2"
want err_lines 1
end

it "a model that this version doesn't have is refused"
uar --model gguf:model.gguf run "Hi"
want code 2
uar --model nonsense run "Hi"
want code 2
want err_has "nonsense"
end

it "Ctrl-C cancels the run: exit 4, what was said is stored as interrupted"
new_store
printf '{"events":[{"text":"Begin "},{"sleep_ms":20000},{"text":"end"},{"finish":"stop"}]}\n' >slow.jsonl
"$UAR" --store "$STORE" --json --model script:slow.jsonl run "Hi" >out 2>err &
pid=$!
want wait_for out ChatDelta
kill -INT $pid
wait $pid
code=$?
want code 4
want same "$(tail -n 1 out | grep -c '"kind":"Cancelled","data":{"reason":"interrupted"')" 1
uar --json sessions show default
want out_has '"parts":[{"type":"text","text":"Begin "}],"interrupted":true'
end

it "a termination signal does the same"
"$UAR" --store "$STORE" --json --session s2 --model script:slow.jsonl run "Hi" >out 2>err &
pid=$!
want wait_for out ChatDelta
kill -TERM $pid
wait $pid
code=$?
want code 4
end

it "when nobody reads the answer the run is cancelled in silence"
new_store
{
    printf '{"events":['
    i=0
    while [ $i -lt 2000 ]; do
        printf '{"text":"%s"},' "some words that fill the pipe until it is full, and then some more of them"
        i=$((i + 1))
    done
    printf '{"sleep_ms":20000},{"finish":"stop"}]}\n'
} >long.jsonl
{ "$UAR" --store "$STORE" --json --model script:long.jsonl run "Hi" 2>err; echo $? >status; } | head -n 2 >out
code=$(cat status)
want code 4
want err_empty
want out_lines 2
uar --json runs list
want out_has '"state":"cancelled"'
end

it "a slow reader gets every event"
new_store
sed 's/{"sleep_ms":20000},//' long.jsonl >much.jsonl
{ "$UAR" --store "$STORE" --json --model script:much.jsonl run "Hi" 2>err; echo $? >status; } | { sleep 1; cat >out; }
code=$(cat status)
want code 0
want err_empty
want same "$(grep -c '"kind":"ChatDelta"' out)" 2000
want same "$(sed 's/^{"id":\([0-9]*\),.*/\1/' out | tail -n 1)" "$(wc -l <out | tr -d ' ')"
end

it "a full disk under stdout is reported"
if [ -w /dev/full ]; then
    "$UAR" --store "$STORE" --model script:hello.jsonl run "Hi" >/dev/full 2>err
    code=$?
    want code 1
    want err_has "standard output can't be written"
    end
else
    skip "$name" "no /dev/full"
fi

it "a closed stdout is reported, and no store takes its place"
new_store
"$UAR" --store "$STORE" --model script:hello.jsonl run "Hi" >&- 2>err
code=$?
want code 1
want err_has "standard output can't be written"
uar --json sessions show default
want code 0
want out_has "Hello there"
end

it "memory that is captured after the answer is still shown"
new_store
uar --json --memory run "My name is Ada and I live in Oslo."
want code 0
want same "$(tail -n 1 out | grep -c '"kind":"MemoryMutation","data":{"id":"[^"]*","op":"add","outcome":"added"')" 1
want same "$(sed '1,/"kind":"RunDone"/d' out | grep -vc '"kind":"MemoryMutation"')" 0
end

it "--max-steps ends a run that calls tools for ever"
printf '[{"name":"f","description":"d","input_schema":{"type":"object"},"class":"read_only","command":["true"]}]' >f.json
for n in 1 2 3; do
    printf '{"events":[{"tool_call":{"index":0,"id":"c%s","name":"f","args_delta":"{}"}},{"finish":"tool_calls"}]}\n' $n
done >calls.jsonl
uar --json --model script:calls.jsonl run "Hi" --tools f.json --max-steps 2
want code 1
want err_has '"code":"UAR_E_STEP_LIMIT"'
end

plan
