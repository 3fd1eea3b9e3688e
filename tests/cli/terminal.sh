#!/bin/sh
# uar chat with a person at a terminal: editing, history, commands, approvals, attributes, Ctrl-C.
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/tap.inc"
unset NO_COLOR OPENAI_API_KEY

if ! python3 -c 'import pty, termios' 2>/dev/null; then
    skip "a chat at a terminal" "no python3 with pty"
    plan
fi

# Steps come on stdin, see terminal.py; where lines can't be edited keys are never read one by one. What the screen showed is in `screen` as it came, in `out` without attributes.
can_edit=false
uar doctor && grep -q 'line_editing *libedit' out && can_edit=true
escape=$(printf '\033')
on_screen() {
    if $can_edit; then cat; else sed '/^raw$/d'; fi | timeout -k 1 200 python3 "$HERE/terminal.py" screen env TERM=xterm-256color LC_ALL=C.UTF-8 "$@" 2>err
    code=$?
    sed "s/$escape\[[0-9;?]*[A-Za-z]//g" screen | tr -d '\r' >out
}
person() { on_screen "$UAR" --store "$STORE" "$@"; }
screen_has() { grep -qF -- "$(printf "$1")" screen; }
screen_lacks() { ! screen_has "$1"; }
said() { uar --json sessions show "$1" && grep -qF -- "\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"$2\"}]" out; }

{ answer one; answer two; answer three; answer four; } >four.jsonl

it "it says what one talks to, and Ctrl-D ends it"
person --model script:four.jsonl chat <<'.'
wait > 
raw
key \x04
.
want code 0
want out_has "model: script:four.jsonl"
want out_has "memory: off"
want out_has "session: default (new)"
end

it "each turn ends with its tokens; what isn't known is called unknown"
{ printf '{"events":[{"text":"Yes."},{"usage":{"input":12,"cache_read":3,"cache_write":4,"output":5}},{"finish":"stop"}]}\n'; answer two; } >counted.jsonl
person --model script:counted.jsonl chat <<'.'
wait > 
key a\r
wait tokens:
wait > 
key b\r
wait tokens:
wait > 
raw
key \x04
.
want code 0
want out_has "tokens: input 12, cache read 3, cache write 4, output 5; money: unknown"
want out_has "tokens: input unknown, cache read unknown, cache write unknown, output unknown; money: unknown"
end

it "--quiet says answers only"
person --quiet --model script:four.jsonl chat <<'.'
wait > 
key a\r
wait one
wait > 
raw
key \x04
.
want code 0
want out_lacks "model:"
want out_lacks "tokens:"
end

if $can_edit; then
    it "a line can be edited, in any language"
    new_store
    person --model script:four.jsonl chat <<'.'
wait > 
raw
key abd\x1b[Dc\x05 \xc3\xa9\xe4\xb8\xad\x7f\r
wait tokens:
wait > 
raw
key \x04
.
    want code 0
    want said default "abcd é"
    end

    it "what was typed is in the history of the next chat, in a file for its owner only"
    person --model script:four.jsonl chat <<'.'
wait > 
raw
key \x1b[A
wait abcd é
key !\r
wait tokens:
wait > 
raw
key \x04
.
    want said default "abcd é!"
    want same "$(stat -c %a "$STORE/chat.history")" 600
    want file_is "$STORE/chat.history" "abcd é
abcd é!"
    end

    it "a history that has grown is cut to its newest thousand lines"
    i=0
    while [ $i -lt 2500 ]; do
        i=$((i + 1))
        echo "line $i"
    done >"$STORE/chat.history"
    person --model script:four.jsonl chat <<'.'
wait > 
raw
key \x1b[A
wait line 2500
key \x15\x04
.
    want code 0
    want same "$(wc -l <"$STORE/chat.history")" 1000
    want same "$(head -n 1 "$STORE/chat.history")" "line 1501"
    end

    it "Ctrl-D that was typed while an answer came ends the chat behind it"
    printf '{"events":[{"text":"Begin"},{"sleep_ms":1000},{"text":" end."},{"finish":"stop"}]}\n' >slowly.jsonl
    person --model script:slowly.jsonl chat <<'.'
wait > 
key a\r
wait Begin
key \x04
wait end.
.
    want code 0
    end
else
    for name in "a line can be edited, in any language" "what was typed is in the history" "a history that has grown is cut" "Ctrl-D that was typed early"; do
        skip "$name" "built without libedit"
    done
fi

it "a sign of life shows while nothing streams, and is gone before text comes"
new_store
printf '{"events":[{"sleep_ms":2500},{"text":"Here."},{"finish":"stop"}]}\n' >thinks.jsonl
person --model script:thinks.jsonl chat <<'.'
wait > 
key a\r
wait working,
wait Here.
wait > 
raw
key \x04
.
want code 0
want screen_has '\r\033[KHere.'
end

cat >marked.jsonl <<'.'
{"events":[{"text":"# Head\n"},{"text":"Some *"},{"text":"*bold"},{"text":"** and *italic* `co"},{"text":"de` 5 * 3 snake_case\n- item\n```c\nint **p;\n``"},{"text":"`\nlast *open\nplain"},{"finish":"stop"}]}
.
marked='# Head
Some **bold** and *italic* `code` 5 * 3 snake_case
- item
```c
int **p;
```
last *open
plain'
shows_marked() { grep -A7 '^# Head' out >part && file_is part "$marked"; }
marked_steps='wait > 
key a\r
wait plain
wait > 
raw
key \x04'

it "Markdown gets attributes, and no character is lost"
person --model script:marked.jsonl chat <<.
$marked_steps
.
want code 0
want screen_has '\033[0;1;35m Head'
want screen_has '\033[0;1mbold'
want screen_has '\033[0;3mitalic'
want screen_has '\033[0;36mde'
want screen_has '\033[0;36mint **p;'
want screen_has '\033[0m 5 * 3 snake_case'
want screen_lacks 'mplain'
want shows_marked
end

it "however the text is cut, the same is shown"
python3 -c 'import json, sys
pieces = [{"text": c} for c in sys.argv[1]]
print(json.dumps({"events": pieces + [{"finish": "stop"}]}))' "$marked" >cut.jsonl
person --model script:cut.jsonl chat <<.
$marked_steps
.
want code 0
want screen_has '\033[0;1mb'
want screen_has '\033[0;36mi'
want shows_marked
end

it "text that looks like Markdown to the end is kept too"
odd='* ** *** **** ` `` a`b *c
#hash ####### seven
1.no 1. yes
    > quote *
~~~ x
~~ y ``` z
~~~~
***'
python3 -c 'import json, sys
print(json.dumps({"events": [{"text": sys.argv[1]}, {"finish": "stop"}]}))' "$odd" >odd.jsonl
person --model script:odd.jsonl chat <<'.'
wait > 
key a\r
wait tokens:
wait > 
raw
key \x04
.
shows_odd() { grep -FA7 '* ** ***' out >part && file_is part "$odd"; }
want shows_odd
end

it "NO_COLOR turns attributes off"
on_screen NO_COLOR=1 "$UAR" --store "$STORE" --model script:marked.jsonl chat <<.
$marked_steps
.
want code 0
want screen_lacks '\033[0'
want screen_lacks '\033[2m'
want shows_marked
end

it "a dumb terminal gets plain text and plain lines"
on_screen TERM=dumb "$UAR" --store "$STORE" --model script:marked.jsonl chat <<'.'
wait > 
key a\r
wait plain
wait > 
key \x04
.
want code 0
want screen_lacks '\033'
want shows_marked
end

it "what models write can't drive the terminal"
printf '{"events":[{"text":"**a\\u001b[31mred**\\u0007"},{"finish":"stop"}]}\n' >evil.jsonl
person --model script:evil.jsonl chat <<'.'
wait > 
key a\r
wait tokens:
wait > 
raw
key \x04
.
want out_has '**a\u001b[31mred**\u0007'
want screen_lacks '\033[31m'
end

it "the session used last is resumed and named; each user has their own; --session wins"
new_store
person --model script:four.jsonl --session work chat <<'.'
wait > 
key a\r
wait tokens:
wait > 
raw
key \x04
.
person --model script:four.jsonl chat <<'.'
wait > 
raw
key \x04
.
want out_has "session: work (2 messages, resumed)"
person --model script:four.jsonl --user bob chat <<'.'
wait > 
raw
key \x04
.
want out_has "session: default (new)"
person --model script:four.jsonl --session other chat <<'.'
wait > 
raw
key \x04
.
want out_has "session: other (new)"
end

it "commands begin with a slash; an unknown one says so; // sends a text with a slash"
new_store
uar memory add "Ada lives in Oslo."
person --memory --model script:four.jsonl chat <<'.'
wait > 
raw
key /help\r
wait //TEXT
raw
key /foo bar\r
wait there is no command '/foo'
raw
key //etc is a folder\r
wait tokens:
wait > 
raw
key /memory Oslo\r
wait Ada lives in Oslo.
raw
key /memory\r
wait memory: on (
raw
key /sessions\r
wait * default (2 messages)
raw
key /sessions second\r
wait session: second (new)
raw
key b\r
wait tokens:
wait > 
raw
key /model nonsense:x\r
wait there is no such model
raw
key /model offline\r
wait model: offline
raw
key Hi\r
wait not a language model
wait > 
raw
key /quit now\r
wait takes nothing
raw
key /exit\r
.
want code 0
want said default "/etc is a folder"
want said second "Hi"
end

it "/memory says that memory is off"
person chat <<'.'
wait > 
raw
key /memory\r
wait memory: off (
raw
key /quit\r
.
want code 0
end

printf '[{"name":"note","description":"d","input_schema":{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"}},"required":["text"]},"class":"effect","approval":"ask","command":["sh","-c","cat >got; echo done"]}]' >ask.json
call_note() { printf '{"events":[{"tool_call":{"index":0,"id":"c1","name":"note","args_delta":"%s"}},{"finish":"tool_calls"}]}\n' "$1"; }
{ call_note '{\"text\":\"short\"}'; answer finished; } >calls.jsonl

it "a call is shown and y runs it"
new_store
person --model script:calls.jsonl chat --tools ask.json <<'.'
wait > 
key a\r
wait Allow it?
raw
key perhaps\r
wait Allow it?
raw
key y\r
wait finished
wait > 
raw
key \x04
.
want code 0
want out_has 'Tool note asks to run with {"text":"short"}'
want file_is got '{"text":"short"}'
end

it "what was typed before a question was seen doesn't answer it"
{ printf '{"events":[{"text":"Wait. "},{"sleep_ms":1000},{"tool_call":{"index":0,"id":"c1","name":"note","args_delta":"{\\"text\\":\\"x\\"}"}},{"finish":"tool_calls"}]}\n'; answer finished; } >late.jsonl
rm -f got
person --model script:late.jsonl chat --tools ask.json <<'.'
wait > 
key a\r
wait Wait.
key y\r
wait Allow it?
raw
key n\r
wait finished
wait > 
raw
key \x04
.
want code 0
want test ! -e got
end

it "long arguments are laid out"
{ call_note '{\"text\":\"a long text, longer than a line of a question should be\",\"count\":12345678901234567890}'; answer finished; } >long.jsonl
rm -f got
person --model script:long.jsonl chat --tools ask.json <<'.'
wait > 
key a\r
wait Allow it?
raw
key n\r
wait finished
wait > 
raw
key \x04
.
want out_has 'Tool note asks to run with {'
want out_has '  "text": "a long text, longer than a line of a question should be",'
want out_has '  "count": 12345678901234567890'
want test ! -e got
end

it "n may carry a reason, which the model is told"
person --model script:calls.jsonl --session reasons chat --tools ask.json <<'.'
wait > 
key a\r
wait Allow it?
raw
key n use another file\r
wait finished
wait > 
raw
key \x04
.
want code 0
want test ! -e got
uar --json sessions show reasons
want out_has "use another file"
end

it "e edits the arguments; those that don't fit are refused and asked again"
if $can_edit; then erase='\x15'; else erase=; fi
person --model script:calls.jsonl chat --tools ask.json <<.
wait > 
key a\r
wait Allow it?
raw
key e\r
wait arguments: 
raw
key $erase{"text":7}\r
wait can't be used
wait Allow it?
raw
key e\r
wait arguments: 
raw
key $erase{"text":\r
wait can't be used
wait Allow it?
raw
key e\r
wait arguments: 
raw
key $erase{"text":"edited"}\r
wait finished
wait > 
raw
key \x04
.
want code 0
want file_is got '{"text":"edited"}'
end

if $can_edit; then
    it "an edit begins with the arguments as they are"
    rm -f got
    person --model script:calls.jsonl chat --tools ask.json <<'.'
wait > 
key a\r
wait Allow it?
raw
key e\r
wait arguments: 
wait {"text":"short"}
raw
key \x1b[D\x1b[D er\r
wait finished
wait > 
raw
key \x04
.
    want code 0
    want file_is got '{"text":"short er"}'
    end
else
    skip "an edit begins with the arguments as they are" "built without libedit"
fi

{ printf '{"events":[{"text":"Begin "},{"sleep_ms":20000},{"finish":"stop"}]}\n'; answer after; } >slow.jsonl

it "Ctrl-C ends the answer, at the prompt it clears the line, twice it ends the chat"
new_store
person --model script:slow.jsonl chat <<'.'
wait > 
key a\r
wait Begin
key \x03
wait cancelled
wait > 
raw
key half a line
wait half a line
key \x03
wait Ctrl-C again
wait > 
raw
key b\r
wait after
wait > 
raw
key \x03
wait Ctrl-C again
wait > 
raw
key \x03
.
want code 0
want said default b
uar --json runs list
want out_lines 2
want same "$(head -n 1 out | grep -c '"state":"cancelled"')" 1
want same "$(tail -n 1 out | grep -c '"state":"done"')" 1
end

it "Ctrl-C at a question ends the run"
rm -f got
person --model script:calls.jsonl chat --tools ask.json <<'.'
wait > 
key a\r
wait Allow it?
raw
key \x03
wait cancelled
wait > 
raw
key \x04
.
want code 0
want test ! -e got
end

it "asked to end, the chat ends at its prompt and leaves the terminal as it was"
on_screen sh -c "trap : TERM; '$UAR' --store '$STORE' chat; echo status \$?; stty -a" <<'.'
wait > 
raw
key half a line
wait half a line
signal SIGTERM
wait status
wait icanon
.
want out_has "status 0"
want out_lacks "-icanon"
want out_lacks "-echo "
end

it "the window may change and the program be stopped while a line is typed"
person --model script:four.jsonl chat <<'.'
size 24 80
wait > 
raw
key some
wait some
size 30 50
size 30 60
signal SIGSTOP
size 30 70
signal SIGCONT
key  words\r
wait one
wait > 
raw
key \x04
.
want code 0
want said default "some words"
end

plan
