#!/bin/sh
# Stores that can't be opened, that others hold, that a killed process left behind.
. "$(dirname "$0")/tap.inc"

answer "Hello there" >hello.jsonl
printf '{"events":[{"text":"Begin "},{"sleep_ms":20000},{"text":"end"},{"finish":"stop"}]}\n' >slow.jsonl

# Patch one byte of a file: poke FILE OFFSET OCTAL
poke() { printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }

it "a store whose folder is a file can't be opened"
echo text >file
for command in "settings list" "sessions list" "memory list" "run Hi" "chat"; do
    # shellcheck disable=SC2086
    "$UAR" --store file $command >out 2>err </dev/null
    code=$?
    want code 3
    want err_has "file"
    want err_lines 1
done
"$UAR" --store file --json memory list >out 2>err
code=$?
want json_lines err
want err_has '"code":"UAR_E_CANTOPEN"'
end

if [ "$(id -u)" -ne 0 ]; then
    it "a store without rights can't be opened"
    mkdir locked && chmod 0 locked
    "$UAR" --store locked settings list >out 2>err
    code=$?
    want code 3
    want err_has "Permission denied"
    chmod 700 locked
    end
else
    skip "a store without rights can't be opened" "root may do everything"
fi

it "state of a newer version is refused by name, and left alone"
new_store
uar --model script:hello.jsonl run "Hi"
poke "$STORE/state/state.db" 62 177
sum=$(cksum <"$STORE/state/state.db")
for command in "sessions list" "run Hi" "settings list"; do
    # shellcheck disable=SC2086
    uar --json $command
    want code 3
    want err_has '"code":"UAR_E_NEWER"'
done
want same "$(cksum <"$STORE/state/state.db")" "$sum"
end

it "memory of a newer version is refused by name, and left alone"
new_store
uar memory add "a fact"
poke "$STORE/memory/memory.db" 62 177
sum=$(cksum <"$STORE/memory/memory.db")
uar --json memory list
want code 3
want err_has '"code":"UAR_E_NEWER"'
want same "$(cksum <"$STORE/memory/memory.db")" "$sum"
end

it "chat and run go on without a memory that can't be opened, and say so"
uar --memory --model script:hello.jsonl run "Hi"
want code 0
want out_is "Hello there"
want err_has "memory: unavailable ("
uar --quiet --memory --model script:hello.jsonl run "Hi"
want err_has "memory: unavailable ("
uar --json --memory --model script:hello.jsonl run "Hi"
want code 0
want json_lines err
want err_has '"code":"UAR_E_UNAVAILABLE"'
want err_has 'memory: unavailable ('
uar_in "Hi
" --memory --model script:hello.jsonl chat
want code 0
want out_is "Hello there"
want err_has "memory: unavailable ("
end

it "chat and run go on where the folder of memory can't be made"
new_store
mkdir -p "$STORE"
echo text >"$STORE/memory"
uar --memory --model script:hello.jsonl run "Hi"
want code 0
want out_is "Hello there"
want err_has "memory: unavailable ("
uar memory list
want code 3
end

it "a damaged state is refused"
new_store
mkdir -p "$STORE/state"
head -c 20000 /dev/zero | tr '\0' 'x' >"$STORE/state/state.db"
uar --json sessions list
want code 3
want err_has '"code":"UAR_E_CORRUPT"'
end

it "a damaged memory is refused"
new_store
mkdir -p "$STORE/memory"
head -c 20000 /dev/zero | tr '\0' 'x' >"$STORE/memory/memory.db"
uar --json memory list
want code 3
want err_has '"code":"UAR_E_CORRUPT"'
end

it "a session that another process writes is busy: exit 7, and only that session"
new_store
"$UAR" --store "$STORE" --json --model script:slow.jsonl run "Hi" >slow.out 2>slow.err &
pid=$!
want wait_for slow.out ChatDelta
uar --json --model script:hello.jsonl run "Hi"
want code 7
want err_has '"code":"UAR_E_BUSY"'
uar --json --session other --model script:hello.jsonl run "Hi"
want code 0
uar --json runs list
want out_has '"state":"running"'
end

it "after a kill the run is interrupted and its session can be used again"
kill -KILL $pid
wait $pid 2>/dev/null
uar --json runs list
want code 0
want out_has '"state":"interrupted"'
want out_lacks '"state":"running"'
uar --json --model script:hello.jsonl run "Again"
want code 0
uar --json sessions show default
want code 0
want out_has "Again"
end

it "memory survives a kill"
new_store
uar memory add "The user lives in Oslo"
"$UAR" --store "$STORE" --json --memory --session killed --model script:slow.jsonl run "Hi" >slow.out 2>slow.err &
pid=$!
want wait_for slow.out ChatDelta
kill -KILL $pid
wait $pid 2>/dev/null
uar --memory run "Where does the user live?"
want code 0
want out_has "Oslo"
end

plan
