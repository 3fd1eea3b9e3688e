#!/bin/sh
# uar doctor: what it checks, what it says about stores, what it leaves alone. uar memory reindex.
. "$(dirname "$0")/tap.inc"
unset OPENAI_API_KEY ANTHROPIC_API_KEY

# check_is NAME true|false 'PART OF THE DETAIL'
check_is() { tr '{' '\n' <out | grep "^\"name\":\"$1\",\"ok\":$2," | grep -qF -- "$3"; }
# What a file holds, and what else lies in its folder but SQLite's companions.
seen() { cksum "$STORE"/*/*.db; find "$STORE" | grep -vE -- '-(wal|shm)$' | sort; }

it "where nothing was made yet all is well, and nothing is made"
uar --json doctor
want code 0
want json_lines out
want out_lines 1
want out_has '{"ok":true,"checks":[{"name":"libuar","ok":true,'
want check_is state true "not created yet"
want check_is memory true "not created yet"
want test ! -e "$STORE"
want err_empty
end

it "the versions of what is linked are named"
for part in libuar sqlite cjson mbedtls utf8proc curl; do
    want check_is $part true '"detail":"'
    want test -n "$(tr '{' '\n' <out | sed -n "s/^\"name\":\"$part\",\"ok\":true,\"detail\":\"\([0-9.]*\).*/\1/p")"
done
want check_is line_editing true '"detail":"'
end

it "stores are opened, counted and checked, and not changed"
uar memory add "Ada lives in Oslo."
uar memory add "Bob likes tea."
uar run "Hi"
before=$(seen)
uar --json doctor
want code 0
want check_is folder true "$STORE"
want check_is folders true "apart"
want check_is state true "opens"
want check_is state_schema true "version 1"
want check_is state_integrity true ""
want check_is memory true "ready"
want check_is memory_records true "2 of owner 'local'"
want check_is memory_integrity true ""
want check_is settings true ""
want check_is embedder true "lexical"
want check_is model true "offline"
want same "$(seen)" "$before"
uar doctor
want code 0
want out_has "all is well"
end

it "a damaged state is named: exit 3"
new_store
uar run "Hi"
uar memory add "Ada lives in Oslo."
printf 'this is no database, and it is longer than a header of one would be, to be sure of that.............' \
    >"$STORE/state/state.db"
rm -f "$STORE/state/state.db-wal" "$STORE/state/state.db-shm"
uar --json doctor
want code 3
want json_lines out
want out_has '{"ok":false,'
want check_is state false "$STORE/state/state.db"
want check_is memory true "ready"
uar doctor
want code 3
want out_has "BAD  state"
want out_has "->"
end

it "a damaged memory is named: exit 3"
new_store
uar run "Hi"
uar memory add "Ada lives in Oslo."
head -c 32768 /dev/zero | tr '\0' 'x' | dd of="$STORE/memory/memory.db" bs=4096 seek=1 conv=notrunc 2>/dev/null
uar --json doctor
want code 3
want out_has '{"ok":false,'
want check_is state true "opens"
want grep -qE '"name":"memory(_integrity|_records)?","ok":false' out
end

it "a store of a newer version is named: exit 3"
if python3 -c 'import sqlite3' 2>/dev/null; then
    new_store
    uar run "Hi"
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA user_version=999")
db.commit()' "$STORE/state/state.db"
    uar --json doctor
    want code 3
    want check_is state false "UAR_E_NEWER"
    want out_has '"hint":"use the version that wrote it'
fi
end

it "state and memory in one folder are named: exit 3"
new_store
mkdir -p "$STORE/state"
ln -s state "$STORE/memory"
uar --json doctor
want code 3
want check_is folders false "same folder"
end

it "a folder that isn't one is named: exit 3"
new_store
echo text >"$STORE"
uar --json doctor
want code 3
want check_is folder false "is not a folder"
end

it "a model that can't be had is named: exit 1"
new_store
uar --json --model nonsense:x doctor
want code 1
want check_is model false "no such model"
uar --json --model script:nowhere.jsonl doctor
want code 1
want check_is model false "nowhere.jsonl"
end

it "a key that is missing is named; one that is there is never shown"
uar --json --model openai:https://models.example/v1#m doctor
want code 1
want check_is model_key false "OPENAI_API_KEY is not set"
OPENAI_API_KEY=sk-very-secret
export OPENAI_API_KEY
uar --json --model openai:https://models.example/v1#m doctor
want code 0
want check_is model_key true "OPENAI_API_KEY is set"
want out_lacks "very-secret"
want err_empty
unset OPENAI_API_KEY
uar --json --model openai:http://127.0.0.1:9/v1#m doctor
want code 0
end

it "an environment that chat and run would refuse is named"
UAR_MEMORY__ENABLED=perhaps
export UAR_MEMORY__ENABLED
uar --json doctor
want code 1
want check_is environment false "UAR_MEMORY__ENABLED must be true or false"
unset UAR_MEMORY__ENABLED
end

it "--repair leaves alone what is whole"
new_store
uar run "Hi"
uar --json doctor --repair
want code 0
want check_is state_repair true "nothing to repair"
want check_is memory_repair true "no memory yet"
end

it "--repair keeps what is whole, names what is lost, and keeps the damaged file"
if python3 -c 'import sqlite3' 2>/dev/null; then
    new_store
    uar run "Hi"
    uar settings set memory.enabled false
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA journal_mode=DELETE")
db.execute("UPDATE record SET body=CAST(? AS BLOB) WHERE kind=31", ("[]",))
db.commit()' "$STORE/state/state.db"
    uar --json doctor
    want code 3
    want check_is state_integrity false "1 are lost"
    want out_has '"lost":[{"store":"state","kind":"setting","owner":"local","id":"memory.enabled"'
    uar doctor
    want out_has "lost setting local memory.enabled"
    uar --json doctor --repair
    want code 0
    want json_lines out
    want check_is state_repair true "1 lost"
    want check_is state_integrity true ""
    want out_has '"lost":[{"store":"state","kind":"setting","owner":"local","id":"memory.enabled"'
    want test "$(ls "$STORE/state" | grep -c damaged)" = 1
    uar sessions list
    want code 0
    want out_has default
fi
end

it "a backup is a store of its own, and overwrites nothing"
new_store
uar run "Hi"
uar memory add "Ada lives in Oslo."
uar --json backup "$WORK/copy"
want code 0
want json_lines out
want out_has '"state":"'
want out_has '"memory":"'
uar --store "$WORK/copy" sessions list
want out_has default
uar --store "$WORK/copy" memory search "Where does Ada live?"
want out_has "Ada lives in Oslo."
uar --json backup "$WORK/copy"
want code 2
want err_has UAR_E_EXISTS
uar --json --store "$WORK/mistyped" backup "$WORK/nothing"
want code 6
want out_is ''
end

it "memory reindex builds the index anew, and all is found again"
new_store
uar memory add "Ada lives in Oslo."
uar --json memory reindex
want code 0
want out_is '{"reindexed":true,"state":"ready","embedder":"lexical","embedded":0,"unembedded":0}'
uar memory search "Where does Ada live?"
want out_has "Ada lives in Oslo."
uar --json doctor
want code 0
end

plan
