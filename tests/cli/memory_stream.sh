#!/bin/sh
# uar memory stream: shapes, ranges, windows, exit codes.
. "$(dirname "$0")/tap.inc"

it "append makes the stream and answers with the number"
uar --json memory stream append plan "The first step is to read the map." --role user --metadata '{"n":1.50}'
want code 0
want json_lines out
want out_has '"number":1,"repeated":false}'
plan_id=$(value out stream)
want test ${#plan_id} -eq 36
uar memory stream append plan "The second step is to pack the bags for the journey."
want code 0
want out_is "2"
end

it "a text from stdin loses its last line feed only"
uar_in 'two
lines
' memory stream append plan -
want code 0
uar --json memory stream read plan --from 3
want out_has '"text":"two\nlines"'
end

it "a key appends once"
uar --json memory stream append plan "Only once." --key k1
want out_has '"number":4,"repeated":false'
uar --json memory stream append plan "Only once." --key k1 --expect 4
want code 0
want out_has '"number":4,"repeated":true'
end

it "an unexpected number is a conflict"
uar --json memory stream append plan "x" --expect 4
want code 1
want json_lines err
want err_has '"code":"UAR_E_CONFLICT"'
want err_has 'next number of the stream is 5, not 4'
want out_empty
end

it "read prints an entry a line, whole"
uar --json memory stream read plan
want code 0
want json_lines out
want out_lines 4
for part in '{"number":1,"role":"user","text":"The first step is to read the map."' '"metadata":{"n":1.50}' \
    '"trust":"user"' '"created":"20' '"tokens":9' '"summary":null' '"summarised_by":null' \
    '"provenance":{"run":null,"event":null,"session":null}' '"key":null}'; do
    want out_has "$part"
done
end

it "read pages in both directions"
uar --json memory stream read plan --limit 3
want out_lines 3
want err_has '{"next":4}'
uar --json memory stream read plan --from 4
want out_lines 1
want err_empty
uar --json memory stream read plan --backwards --limit 2
want same "$(head -n 1 out | cut -c 1-11)" '{"number":4'
want err_has '{"next":2}'
uar memory stream read plan --limit 1
want err_has "there is more: --from 2"
end

it "a stream is found by its id too, and by nobody else"
uar --json memory stream read "$plan_id" --limit 1
want code 0
uar --json --user other memory stream read "$plan_id"
want code 6
want err_has "user 'other' sees no stream"
uar --json --user other memory stream read plan
want code 6
uar --json --user boss memory stream read "$plan_id" --limit 1 --all-users
want code 0
end

it "a window holds what fits and says what was left out"
uar --json memory stream window plan --tokens 10
want code 0
want json_lines out
want out_has '"left_out":2,'
want out_has '"gaps":[{"first":1,"last":2,"entries":2,'
want out_has '"number":4'
uar memory stream window plan --tokens 10
want err_has "2 entries with"
uar --json memory stream window plan
want out_has '"left_out":0,"left_out_tokens":0,"gaps":[]'
end

it "a summary takes the place of its range in windows"
uar --json memory stream summarise plan "Read the map, pack the bags." --last 2
want code 0
want json_lines out
want out_has '"number":5,"first":1,"last":2,"sources":2,"tokens":7,"source_tokens":22,"repeated":false}'
uar --json memory stream window plan
want out_has '"entries":[{"number":5,"role":"summary"'
want out_lacks '"number":2'
uar --json memory stream read plan --limit 1
want out_has '"summarised_by":5'
end

it "a range that cuts a summary, and a summary that is not shorter, are refused"
uar --json memory stream summarise plan "x" --first 2 --last 3
want code 2
want err_has "stands for 1 to 2"
uar --json memory stream summarise plan "A text that is longer than what it would stand for." --first 4 --last 4
want code 2
want err_has '"code":"UAR_E_TOO_LARGE"'
end

it "without a text the summary is made of sentences of the range"
uar memory stream append log "The pump failed at noon. It was warm. The pump has a broken valve."
uar memory stream append log "We ordered a new valve for the pump. Lunch was late."
uar --json memory stream summarise log --max-tokens 20
want code 0
want out_has '"number":3,"first":1,"last":2,"sources":2'
uar --json memory stream read log --from 3
want out_has "valve"
want out_has '"summary":{"first":1,"last":2}'
end

it "an archived stream leaves lists, takes no entries, and comes back"
uar --json memory stream archive log
want code 0
want json_lines out
want out_has '"name":"log"'
want out_has '"archived":"20'
uar --json memory stream list
want out_lines 1
want out_lacks '"name":"log"'
uar --json memory stream list --archived
want out_lines 1
want out_has '"name":"log"'
uar --json memory stream list --all
want out_lines 2
uar --json memory stream append log "more"
want code 1
want err_has '"code":"UAR_E_CLOSED"'
uar --json memory stream window log
want code 1
uar --json memory stream window log --archived
want code 0
uar --json memory stream unarchive log
want out_has '"archived":null'
uar memory stream append log "more"
want code 0
end

it "list prints streams, newest first, in pages"
uar --json memory stream list --limit 1
want code 0
want json_lines out
want out_has '"name":"log","scope":"user","owner":"local","user":"me","agent":null,"session":null,"task":null'
want err_has '"cursor":"'
cursor=$(value err cursor)
uar --json memory stream list --after "$cursor"
want out_lines 1
want out_has '"name":"plan"'
end

it "with --task a stream belongs to the task"
uar --json --task t1 memory stream append plan "of the task"
want out_has '"number":1'
uar --json memory stream append plan "of the user"
want out_has '"number":6'
uar --json --task t1 memory stream append plan "of the user again" --scope user
want out_has '"number":7'
end

it "shared streams need the flag"
uar --json memory stream append notice "for all" --scope global
want code 2
want err_has '"code":"UAR_E_FORBIDDEN"'
uar --json --allow-shared-memory memory stream append notice "for all" --scope global
want code 0
uar --json --user other memory stream read notice --scope global
want code 0
want out_has "for all"
end

it "stats count streams and entries"
uar --json memory stream stats --scope user --all
want code 0
want json_lines out
want out_has '{"streams":2,"archived":0,"entries":11,"summaries":2,"tokens":'
uar memory stream stats
want code 0
want out_has "streams (0 archived)"
end

it "what is exported can be imported elsewhere, and only once"
uar --json memory stream export --scope user
want code 0
want json_lines out
want out_lines 13
want out_has '{"v":1,"kind":"stream",'
want out_has '{"v":1,"kind":"entry","stream":"'
cp out streams.jsonl
first=$STORE
new_store
uar --json memory stream import streams.jsonl
want code 0
want out_is '{"streams":2,"entries":11,"skipped":0,"failed":0}'
uar --json memory stream export
want same "$(cat out)" "$(cat streams.jsonl)"
uar --json memory stream import streams.jsonl
want out_is '{"streams":0,"entries":0,"skipped":13,"failed":0}'
STORE=$first
end

it "a bad line of an import is named and the others go in"
printf '%s\n' '{"kind":"stream","name":"new"}' '{"kind":"entry","text":"a"}' '{"kind":"entry","number":5,"text":"b"}' >bad.jsonl
uar --json memory stream import bad.jsonl
want code 2
want out_is '{"streams":1,"entries":1,"skipped":0,"failed":1}'
want err_has 'bad.jsonl:3: entry 2 is missing'
end

it "delete erases the stream"
uar --json memory stream delete plan
want code 0
want out_is "{\"id\":\"$plan_id\",\"outcome\":\"erased\"}"
uar --json memory stream read "$plan_id"
want code 6
want test "$(grep -c 'read the map' "$STORE/memory/memory.db")" -eq 0
uar --json memory stream delete plan
want code 6
end

it "what is wrong with a command line is named"
uar memory stream append plan
want code 2
uar memory stream read plan --from 0
want code 2
want err_has "--from takes a whole number from 1"
uar memory stream append plan x --scope everybody
want code 2
want err_has "there is no scope 'everybody'"
uar --json memory stream append plan x --metadata '[]'
want code 2
want err_has "not a JSON object"
uar memory stream summarise plan x --max-tokens 5
want code 2
want err_has "without TEXT"
uar memory stream forget
want code 2
want err_has "memory stream"
end

it "help shows every verb and its options"
uar memory stream --help
want code 0
for verb in append read window summarise list archive unarchive delete export import stats; do
    want out_has "memory stream $verb"
done
uar memory stream window --help
want code 0
want out_has "--tokens N"
end

it "an entry that is refused makes no stream"
new_store
uar memory stream append refused ' '
want code 2
uar memory stream append refused x --metadata '[]'
want code 2
uar --json memory stream append refused x --expect 2
want err_has '"code":"UAR_E_CONFLICT"'
uar --json memory stream list --all
want out_lines 0
uar --json memory stream append taken x --expect 1
want code 0
want out_has '"number":1,"repeated":false'
end

it "a byte order mark at the beginning of a file is no fault"
printf '\357\273\277{"v":1,"kind":"stream","name":"marked"}\r\n' >marked
uar --json memory stream import marked
want code 0
want out_has '"streams":1,'
end

plan
