#!/bin/sh
# uar sessions delete, rename, export, branch.
. "$(dirname "$0")/tap.inc"

{
    answer "Hello there"
    answer "Again"
} >two.jsonl

it "a session gets a name, and loses it"
uar --model script:two.jsonl run "Hi"
uar --json sessions rename default "A trip"
want code 0
want out_has '"name":"A trip"'
uar --json sessions list
want out_has '"name":"A trip"'
uar sessions list
want out_has "  A trip"
uar --json sessions rename default ""
want code 0
want out_has '"name":null'
end

it "what isn't there can't be renamed, exported, branched or deleted"
uar sessions rename nowhere x
want code 6
uar sessions export nowhere
want code 6
want out_empty
uar sessions branch nowhere new
want code 6
uar --json sessions delete nowhere
want code 6
want err_has '"code":"UAR_E_NOT_FOUND"'
uar --json --user bob sessions delete default
want code 6
end

it "an export is a line of JSON a record"
uar --model script:two.jsonl run "Hi"
uar sessions export default
want code 0
want json_lines out
want same "$(head -n 1 out | grep -c '^{"v":1,"kind":"session",')" 1
want same "$(grep -c '^{"v":1,"kind":"message",' out)" 4
want same "$(tail -n 1 out)" "{\"v\":1,\"kind\":\"end\",\"lines\":$(($(wc -l <out) - 1))}"
end

it "a branch begins as the other session did"
uar --json sessions branch default other --at 2 --name "Other"
want code 0
want out_has '"session":"other"'
want out_has '"messages":2'
uar --json sessions show other
want out_lines 2
uar --json sessions show default
want out_lines 4
uar sessions branch default other
want code 2
uar sessions branch default third --at 0
want code 2
uar sessions branch default third --at 3 --text "Hi all"
want code 0
uar --json sessions show third
want out_has 'Hi all'
end

it "a deleted session is gone and its id is free"
uar --json sessions delete default
want code 0
want out_has '{"session":"default","outcome":"deleted","records":'
uar sessions show default
want code 6
uar --json sessions list
want out_lines 2
uar --model script:two.jsonl run "Anew"
want code 0
uar --json sessions show default
want out_lines 2
uar --json runs list
want out_lines 1
end

it "a command without its operands is refused"
uar sessions delete
want code 2
uar sessions rename default
want code 2
end

plan
