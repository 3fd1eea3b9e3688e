#!/bin/sh
# uar memory: shapes, scopes, exit codes.
. "$(dirname "$0")/tap.inc"

it "add answers with the id and what happened"
uar --json memory add "The user likes tea" --category drinks --metadata '{"n":12345678901234567890}' --importance 0.9
want code 0
want json_lines out
want out_has '"outcome":"added","supersedes":null,"revision":1'
tea=$(value out id)
want test ${#tea} -eq 36
end

it "get prints the whole record"
uar --json memory get "$tea"
want code 0
want json_lines out
for part in '"content":"The user likes tea"' '"scope":"user"' '"type":"semantic"' '"owner":"local"' '"user":"me"' \
    '"agent":null' '"session":null' '"task":null' '"categories":["drinks"]' '"metadata":{"n":12345678901234567890}' \
    '"importance":0.9' '"trust":"user"' '"fact":null' '"created":"20' '"updated":"20' '"valid_from":"20' \
    '"valid_until":null' '"revision":1'; do
    want out_has "$part"
done
end

it "the same text again reinforces"
uar --json memory add "the user  LIKES tea"
want code 0
want out_has "\"id\":\"$tea\""
want out_has '"outcome":"reinforced"'
end

it "a fact supersedes the one in its slot"
uar --json memory add "The user lives in Berlin" --fact user/city
berlin=$(value out id)
uar --json memory add "The user lives in Oslo" --fact user/city
want out_has "\"outcome\":\"superseded\",\"supersedes\":\"$berlin\""
oslo=$(value out id)
uar --json memory search "where does the user live"
want out_has "Oslo"
want out_lacks "Berlin"
end

it "the first slash splits a fact"
uar --json memory add "The car is red" --fact "car/colour/outside"
uar --json memory get "$(value out id)"
want out_has '"fact":{"subject":"car","attribute":"colour/outside"}'
end

it "history shows the old version and the new one, oldest first"
uar --json memory history "$oslo"
want code 0
want json_lines out
want out_lines 2
want same "$(head -n 1 out | grep -c Berlin)" 1
want same "$(tail -n 1 out | grep -c Oslo)" 1
end

it "as-of shows what held then"
uar --json memory add "The user works at Acme" --fact user/job --created 2024-01-01
uar --json memory add "The user works at Bolt" --fact user/job --created 2025-01-01
uar --json memory search "where does the user work" --as-of 2024-06-01
want code 0
want out_has "Acme"
want out_lacks "Bolt"
end

it "search answers with one object: query, mode, hits with score and reasons"
uar --json memory search "tea" --limit 1
want code 0
want json_lines out
want out_lines 1
want out_has '{"query":"tea","mode":"lexical","hits":[{"id":"'
want out_has '"score":'
want out_has '"why":{"lexical":'
end

it "a search without hits is an empty list, not a failure"
uar --json memory search "zebra"
want code 0
want out_is '{"query":"zebra","mode":"lexical","hits":[]}'
end

it "a batch answers a line for a line, in order"
cat >questions.jsonl <<'END'
{"query":"tea"}

{"query":"where does the user live","limit":1,"scope":"user"}
{"query":"tea","category":"none"}
END
uar memory search --batch questions.jsonl
want code 0
want json_lines out
want out_lines 3
want same "$(sed -n 1p out | cut -c 1-14)" '{"query":"tea"'
want same "$(sed -n 2p out | grep -c Oslo)" 1
want same "$(sed -n 3p out)" '{"query":"tea","mode":"lexical","hits":[]}'
end

it "a broken line of a batch is named and nothing is answered"
printf '{"query":"tea"}\n{"query":}\n' >broken.jsonl
uar memory search --batch broken.jsonl
want code 2
want err_has "broken.jsonl:2:10:"
want out_empty
end

it "an unknown key of a batch is named"
printf '{"query":"tea","colour":"red"}\n' >broken.jsonl
uar memory search --batch broken.jsonl
want code 2
want err_has 'broken.jsonl:1: "colour"'
end

it "list is newest write first and pages by a cursor"
uar --json memory list --limit 2
want code 0
want json_lines out
want out_lines 2
want err_has '"cursor":"'
cp out first
cursor=$(value err cursor)
uar --json memory list --after "$cursor"
want code 0
want err_empty
cat first out >paged
uar --json memory list
want file_is paged "$(cat out)"
want same "$(sort -u out | wc -l)" "$(wc -l <out)"
end

it "list filters by scope, type, category, metadata and time"
uar --json memory add "Deploys happen on Friday" --type procedural --metadata '{"team":"blue"}' --created 2023-05-01
uar --json memory list --type procedural
want out_lines 1
uar --json memory list --metadata '{"team":"blue"}'
want out_lines 1
uar --json memory list --category drinks
want out_lines 1
uar --json memory list --before 2023-06-01
want out_lines 1
uar --json memory list --scope session
want out_empty
end

it "update changes the text and keeps the old version"
uar --json memory update "$tea" "The user likes green tea"
want code 0
want out_has "\"id\":\"$tea\""
want out_has '"revision":2'
uar --json memory history "$tea"
want out_lines 2
end

it "update at another revision is a conflict"
uar --json memory update "$tea" "The user likes black tea" --revision 1
want code 1
want err_has '"code":"UAR_E_CONFLICT"'
end

it "an update of nothing is a usage error"
uar memory update "$tea"
want code 2
want err_has "nothing to change"
end

it "another user sees nothing of it"
uar --json --user bob memory list
want code 0
want out_empty
uar --json --user bob memory get "$tea"
want code 6
want err_has '"code":"UAR_E_NOT_FOUND"'
uar --json --user bob memory delete "$tea"
want code 6
end

it "another owner sees nothing of it, not even as operator"
uar --json --owner other memory list --all-users
want code 0
want out_empty
end

it "the operator of an owner sees every user's records"
uar --json --user bob memory list --all-users
want code 0
want out_has "green tea"
end

it "shared memory needs its flag"
uar --json memory add "The office is closed on Monday" --scope global
want code 2
want err_has '"code":"UAR_E_FORBIDDEN"'
want err_has "--allow-shared-memory"
uar --json --allow-shared-memory memory add "The office is closed on Monday" --scope global
want code 0
uar --json --user bob memory search office
want out_has "Monday"
end

it "session memory is seen in its session only"
uar --session s1 memory add "We speak about boats" --scope session
uar --json --session s1 memory search boats
want out_has "We speak about boats"
uar --json --session s2 memory search boats
want out_lacks "We speak about boats"
end

it "stats count by scope"
uar --json memory stats
want code 0
want json_lines out
want out_has '"by_scope":{"global":1,"agent":0,"user":'
want out_has '"state":"ready","pending":0,"embedder":"lexical"'
want out_has '"embedded":0,"unembedded":0'
end

it "delete erases a record"
uar --json memory delete "$tea"
want code 0
want out_has "\"id\":\"$tea\",\"outcome\":\"erased"
uar memory get "$tea"
want code 6
end

it "a bulk delete needs a filter, then --yes"
uar --json memory delete
want code 2
want err_has '"code":"UAR_E_FILTER_REQUIRED"'
uar --json memory delete --type procedural
want code 2
want err_has "--yes"
uar --json memory delete --type procedural --yes
want code 0
want out_has '"erased":1,"pending":0'
end

for id in nope 00000000-0000-7000-8000-000000000000; do
    for verb in get history delete; do
        it "$verb of '$id' is not found"
        uar memory $verb $id
        want code 6
        want err_has "'$id'"
        want out_empty
        end
    done
done

it "text that isn't UTF-8 is refused"
uar memory add "$(printf 'ab\377')"
want code 2
want err_has "not valid UTF-8 at byte 3"
end

it "blank text, a wrong scope, type, date, fact, importance, metadata are refused by name"
uar memory add "  "
want code 2
uar memory add x --scope planet
want code 2
want err_has "no scope 'planet'"
uar memory add x --type idea
want code 2
want err_has "no type 'idea'"
uar memory add x --created 2024-02-30
want code 2
want err_has "--created"
uar memory add x --fact city
want code 2
want err_has "--fact"
uar memory add x --importance 1.5
want code 2
want err_has "--importance"
uar memory add x --metadata '[1]'
want code 2
want err_has "--metadata must be a JSON object"
uar memory add x --metadata '{"a":1,}'
want code 2
want err_has "--metadata is not JSON"
end

it "export and import keep everything, import counts what it did"
uar memory export
want code 0
want json_lines out
want out_has '"v":1'
cp out exported.jsonl
old=$STORE
new_store
uar --json --allow-shared-memory memory import exported.jsonl --verbatim
want code 0
want json_lines out
want out_has "\"added\":$(wc -l <exported.jsonl | tr -d ' '),\"reinforced\":0,\"superseded\":0,\"failed\":0"
uar memory export
want file_is exported.jsonl "$(cat out)"
STORE=$old
end

it "import reads bare lines and names those that it can't"
new_store
printf '{"content":"one"}\n{"content":""}\nnonsense\n{"content":"two","session":"s","metadata":{"k":[1,2]}}\n' >lines.jsonl
uar --json memory import lines.jsonl
want code 2
want out_has '"added":2,"reinforced":0,"superseded":0,"failed":2'
want json_lines err
want err_has "lines.jsonl:2:"
want err_has "lines.jsonl:3:"
uar_in '{"content":"three"}' --json memory import -
want code 0
want out_has '"added":1'
end

it "a file that isn't there is a usage error"
uar memory import nowhere.jsonl
want code 2
want err_has "nowhere.jsonl"
end

it "for people, a list shows one record a line without anything that could drive a terminal"
new_store
uar memory add "$(printf 'plain \033[31mred\nnext')"
uar memory list
want out_lines 1
want out_has 'plain \u001b[31mred\u000anext'
end

it "a record with a time to live says when it goes, and a patch moves it"
new_store
uar --json memory add "The code of the week is heron" --ttl 30d
want code 0
heron=$(value out id)
uar --json memory get "$heron"
want out_has '"expires":"20'
uar --json memory update "$heron" --expires never
want code 0
uar --json memory get "$heron"
want out_has '"expires":null'
uar memory add "too late" --expires 2001-01-01
want code 2
uar memory add "when?" --ttl soon
want code 2
want err_has "90s, 15m, 12h, 30d or 4w"
end

it "an expired record is gone, and a sweep erases it"
uar memory add "The code of the second is egret" --ttl 1s
sleep 2
uar --json memory list
want out_lacks egret
uar --json memory sweep
want code 0
want out_has '"erased":'
want same "$(grep -c egret "$STORE/memory/memory.db")" 0
end

it "compress puts one record in the place of many and keeps them in its history"
new_store
for day in first second third; do
    uar memory add "On the $day day the crew of the ferry worked on the engine all day long" --scope session
done
uar --json memory compress --scope session --summary "The crew repaired the engine"
want code 0
want json_lines out
want out_has '"archived":3'
summary=$(value out id)
uar --json memory list
want out_lines 1
uar --json memory history "$summary"
want out_lines 4
uar --json memory purge "$summary"
want code 0
want out_has '"erased":3,"pending":0'
uar --json memory history "$summary"
want out_lines 1
end

it "compress without a filter needs --yes, and something to compress"
uar memory compress
want code 2
want err_has "--yes"
uar memory compress --yes
want code 6
uar memory compress --older-than 30d
want code 6
end

it "M7 a date of 1970 is a condition: a bulk delete before it erases nothing"
new_store
uar memory add "The ferry leaves at nine"
uar --json memory delete --scope user --before 1970-01-01 --yes
want code 0
want out_has '"erased":0,"pending":0'
uar --json memory delete --before 1970-01-01T00:00:00Z --yes
want out_has '"erased":0,"pending":0'
uar --json memory list
want out_lines 1
uar --json memory search ferry --as-of 1970-01-01
want out_has '"hits":[]'
printf '%s\n' '{"query":"ferry","before":"1970-01-01"}' '{"query":"ferry","as_of":"1970-01-01"}' >batch
uar memory search --batch batch
want code 0
want same "$(grep -c '"hits":\[\]' out)" 2
end

it "a number in a batch's metadata keeps its digits"
uar memory add "The ferry has a number" --metadata '{"n":12345678901234567890,"f":1.0}'
printf '%s\n' '{"query":"ferry","metadata":{"n":12345678901234567890}}' '{"query":"ferry","metadata":{"f":1.0}}' \
    '{"query":"ferry","metadata":{"n":12345678901234567891}}' >batch
uar memory search --batch batch
want code 0
want out_lines 3
want same "$(grep -c '"content":"The ferry has a number"' out)" 2
end

it "a byte order mark at the beginning of a file is no fault"
printf '\357\273\277{"content":"Marked by an editor"}\r\n' >marked
uar --json memory import marked
want code 0
want out_has '"added":1,'
printf '\357\273\277{"query":"editor"}\r\n' >marked
uar memory search --batch marked
want code 0
want out_has "Marked by an editor"
end

it "options count for the lines of a batch that don't say otherwise"
new_store
uar memory add "The ferry of the user"
uar memory add "The ferry of the session" --scope session
printf '%s\n' '{"query":"ferry"}' '{"query":"ferry","scope":"session"}' '{"query":"ferry","limit":2,"include_past":true}' \
    '{"query":"ferry","scope":["user","session"],"limit":1}' >batch
uar memory search --batch batch --scope user --limit 1
want code 0
want same "$(grep -c 'ferry of the user' out)" 2
want same "$(sed -n 2p out | grep -c 'ferry of the session')" 1
want same "$(sed -n 4p out | grep -o '"id"' | wc -l)" 1
printf '%s\n' '{"query":"ferry","scope":[]}' >batch
uar memory search --batch batch
want code 2
want err_has '"scope" is missing, unknown or not usable'
end

plan
