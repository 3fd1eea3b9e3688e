#!/bin/sh
# uar sessions and uar runs: what the store keeps.
. "$(dirname "$0")/tap.inc"

answer "Hello there" >hello.jsonl

it "an empty store lists nothing"
uar --json sessions list
want code 0
want out_empty
uar --json runs list
want code 0
want out_empty
end

it "sessions are listed with the keys that programs read"
uar --model script:hello.jsonl run "Hi"
uar --model script:hello.jsonl --session second run "Hi"
uar --model script:hello.jsonl --session third run "Hi"
uar --json sessions list
want code 0
want json_lines out
want out_lines 3
want out_has '{"session":"default","user":"me",'
want out_has '"messages":2,'
want out_has '"updated_ms":1'
end

it "sessions page by a cursor"
uar --json sessions list --limit 2
want out_lines 2
cp out paged
cursor=$(value err cursor)
uar --json sessions list --after "$cursor"
want code 0
want err_empty
cat out >>paged
uar --json sessions list
want file_is paged "$(cat out)"
end

it "sessions belong to one user"
uar --json --user bob sessions list
want code 0
want out_empty
uar --json --user bob sessions show default
want code 6
want err_has '"code":"UAR_E_NOT_FOUND"'
end

it "a session is shown a message a line"
uar --json sessions show default
want code 0
want json_lines out
want out_lines 2
want same "$(head -n 1 out | grep -c '^{"message":"[^"]*","number":1,"role":"user","parts":\[{"type":"text","text":"Hi"}\],"interrupted":false')" 1
want same "$(tail -n 1 out | grep -c '"number":2,"role":"assistant","parts":\[{"type":"text","text":"Hello there"}\]')" 1
end

it "calls and results are parts"
new_store
printf '[{"name":"f","description":"d","input_schema":{"type":"object"},"command":["echo","{\\"a\\":12345678901234567890}"]}]' >f.json
{
    printf '{"events":[{"tool_call":{"index":0,"id":"c1","name":"f","args_delta":"{\\"x\\":12345678901234567890}"}},{"finish":"tool_calls"}]}\n'
    answer done
} >call.jsonl
uar --model script:call.jsonl run "Hi" --tools f.json
uar --json sessions show default
want json_lines out
want out_lines 4
want out_has '{"type":"tool_call","call":"c1","tool":"f","arguments":{"x":12345678901234567890}}'
want out_has '"type":"tool_result","call":"c1","tool":"f","text":'
end

it "a session that isn't there is not found"
uar sessions show nowhere
want code 6
want err_has "no session 'nowhere'"
end

it "runs are listed with the keys that programs read, oldest first"
uar --json run "Again" --model script:call.jsonl --script-from 2
uar --json runs list
want code 0
want json_lines out
want out_lines 2
want same "$(head -n 1 out | grep -c '^{"run":"[^"]*","user":"me","session":"default","agent":"assistant","state":"done","reason":null,')" 1
want out_has '"started_ms":1'
want out_has '"pending":[]'
run=$(value out run)
end

it "a failed run tells why"
printf '{"events":[{"error":{"code":"UAR_E_MODEL","message":"out of order","retryable":false}}]}\n' >fail.jsonl
uar --model script:fail.jsonl run "Hi"
uar --json runs list --state failed
want out_lines 1
want out_has '"state":"failed"'
want out_has '"code":"UAR_E_MODEL"'
end

it "runs are filtered by state, and a state that isn't is refused"
uar --json runs list --state done
want out_lines 2
uar --json runs list --state cancelled
want out_empty
uar runs list --state happy
want code 2
want err_has "no state 'happy'"
end

it "show has steps and usage besides"
uar --json runs show "$run"
want code 0
want json_lines out
want out_has "\"run\":\"$run\""
want out_has '"steps":'
want out_has '"usage":{"input":0,"cache_read":0,"cache_write":0,"output":0,"reasoning":0'
end

it "usage is what the model said"
new_store
printf '{"events":[{"text":"x"},{"usage":{"input":12,"cache_read":3,"cache_write":4,"output":5,"reasoning":2}},{"finish":"stop"}]}\n' >usage.jsonl
uar --json --model script:usage.jsonl run "Hi"
want out_has '"usage":{"input":12,"cache_read":3,"cache_write":4,"output":5,"reasoning":2'
run=$(value out run)
uar --json runs show "$run"
want out_has '"usage":{"input":12,"cache_read":3,"cache_write":4,"output":5,"reasoning":2'
end

it "a run of another user is not found"
uar --json --user bob runs show "$run"
want code 6
end

for id in nope 00000000-0000-7000-8000-000000000000; do
    it "run '$id' is not found"
    uar runs show $id
    want code 6
    want err_has "'$id'"
    end
done

plan
