#!/bin/sh
# uar chat: lines in, answers out, Ctrl-C.
. "$(dirname "$0")/tap.inc"

{ answer one; answer two; answer three; } >three.jsonl

it "each line is a turn, its answer a line"
uar_in "a

b" --model script:three.jsonl chat
want code 0
want out_is "one
two"
uar --json sessions show default
want out_lines 4
end

it "a session goes on in another process"
uar_in "c
" --model script:three.jsonl chat
uar --json sessions show default
want code 0
want out_lines 6
want out_has '"number":6,"role":"assistant","parts":[{"type":"text","text":"one"}]'
end

it "--session names another one"
uar_in "a
" --model script:three.jsonl --session other chat
uar --json sessions show other
want out_lines 2
uar --json sessions show default
want out_lines 6
end

it "with --json events are printed"
uar_in "a
" --json --model script:three.jsonl chat
want code 0
want json_lines out
want out_has '"kind":"RunDone"'
end

it "no line at all is fine"
uar_in "" chat
want code 0
want out_empty
end

it "a line that isn't UTF-8 is refused, the others go on"
printf 'a\nb\377\nc\n' >in
timeout 60 "$UAR" --store "$STORE" --model script:three.jsonl chat <in >out 2>err
code=$?
want code 2
want err_has "not valid UTF-8 at byte 2"
want out_is "one
two"
end

it "a turn that fails is reported, the others go on, the first failure decides the exit code"
{ printf '{"events":[{"error":{"code":"UAR_E_MODEL","message":"out of order","retryable":false}}]}\n'; answer fine; } >fails.jsonl
uar_in "a
b
" --model script:fails.jsonl chat
want code 1
want err_has "out of order"
want out_is "fine"
end

it "a line that begins with a slash is a line as any other, and no session is noted as the last one"
new_store
uar_in "/quit
//x
" --session apart --model script:three.jsonl chat
want code 0
want out_is "one
two"
uar --json sessions show apart
want out_has '"text":"/quit"'
want out_has '"text":"//x"'
uar_in "a
" --model script:three.jsonl chat
uar --json sessions show default
want out_lines 2
want test ! -e "$STORE/chat.history"
end

it "what was said is remembered in another session, with source and date"
new_store
uar_in "My name is Ada and I live in Oslo.
" --memory chat
want code 0
uar_in "Where do I live?
" --memory --session later chat
want out_has "I live in Oslo"
want out_has "$(date -u +%Y-)"
end

it "another user knows nothing of it"
uar_in "Where do I live?
" --memory --user bob chat
want out_lacks "Oslo"
end

if command -v script >/dev/null 2>&1; then
    it "on a terminal the state of memory is said"
    new_screen
    { wait_for screen '> '; printf '\004'; wait_for screen status; } | uar_terminal --memory chat
    screen_status
    want code 0
    want out_has "memory: on ("
    want out_lacks "memory: on (0 records)"
    end

    it "Ctrl-C ends the turn, not the program; at the prompt the second one ends the program"
    new_store
    { printf '{"events":[{"text":"Begin "},{"sleep_ms":20000},{"finish":"stop"}]}\n'; answer after; } >slow.jsonl
    new_screen
    {
        wait_for screen '> '
        echo a
        wait_for screen Begin
        printf '\003'
        wait_for screen cancelled
        echo b
        wait_for screen after
        sleep 0.5
        printf '\003'
        wait_for screen 'again ends'
        printf '\003'
        wait_for screen status
    } |
        uar_terminal --model script:slow.jsonl chat
    screen_status
    want code 0
    want out_has "Begin"
    want out_has "after"
    uar --json runs list
    want out_lines 2
    want same "$(head -n 1 out | grep -c '"state":"cancelled"')" 1
    want same "$(tail -n 1 out | grep -c '"state":"done"')" 1
    end
else
    skip "on a terminal the state of memory is said" "no script program"
    skip "Ctrl-C ends the turn, not the program; at the prompt the second one ends the program" "no script program"
fi

plan
