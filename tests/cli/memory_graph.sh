#!/bin/sh
# uar memory graph: shapes, names, times, exit codes.
. "$(dirname "$0")/tap.inc"

it "the group needs a subcommand, and its help names them all"
uar memory graph
want code 2
want err_has "'uar memory graph' needs a subcommand"
uar memory graph --help
want code 0
for verb in add get list relate unrelate observe forget rename merge delete neighbours path search link unlink records \
    entities import export stats; do
    want out_has "memory graph $verb"
done
uar memory graph dance
want code 2
want err_has "unknown subcommand 'dance'; see 'uar memory graph --help'"
end

it "add answers with the id and what happened"
uar --json memory graph add "Ada Lovelace" --kind person --alias "Countess of Lovelace" --properties '{"born":1815}'
want code 0
want json_lines out
want out_has '"outcome":"added","supersedes":null,"revision":1'
ada=$(value out id)
uar --json memory graph add "ada  lovelace" --kind Person
want out_has "\"id\":\"$ada\",\"outcome\":\"reinforced\""
end

it "relate and observe take names in any spelling"
uar --json memory graph add "Charles Babbage" --kind person
babbage=$(value out id)
uar --json memory graph relate "ADA LOVELACE" "wrote to" "charles babbage" --properties '{"letters":20}'
want code 0
want out_has '"outcome":"added"'
uar --json memory graph observe "countess of lovelace" "wrote the first program"
want code 0
note=$(value out id)
want test ${#note} -eq 36
end

it "get prints the whole entity"
uar --json memory graph get "Ada Lovelace"
want code 0
want json_lines out
for part in "\"entities\":[{\"id\":\"$ada\",\"name\":\"Ada Lovelace\",\"kind\":\"person\"" \
    '"aliases":["Countess of Lovelace"],"properties":{"born":1815},"scope":"user","owner":"local","user":"me"' \
    "\"from\":\"$ada\",\"from_name\":\"Ada Lovelace\",\"type\":\"wrote to\",\"to\":\"$babbage\"" \
    '"properties":{"letters":20}' '"valid_until":null' '"text":"wrote the first program"' '"cursor":null'; do
    want out_has "$part"
done
uar memory graph get "Ada Lovelace"
want out_has "Ada Lovelace (person)  also Countess of Lovelace"
want out_has "wrote the first program"
want out_has "Ada Lovelace — wrote to → Charles Babbage"
end

it "an unknown name exits 6, one that several have exits 2"
uar --json memory graph get nobody
want code 6
want err_has '"code":"UAR_E_NOT_FOUND"'
uar --json memory graph add Mercury --kind planet
uar --json memory graph add Mercury --kind metal
uar memory graph get Mercury
want code 2
want err_has "2 entities are called 'Mercury'"
uar memory graph get Mercury --kind METAL
want code 0
end

it "list prints a line each, in pages"
uar --json memory graph list
want code 0
want json_lines out
want out_lines 4
uar --json memory graph list --limit 3
want out_lines 3
want err_has '"cursor":'
uar --json memory graph list --kind person
want out_lines 2
uar --json memory graph list --relations
want out_lines 1
uar --json memory graph list --observations
want out_lines 1
uar memory graph list --relations --observations
want code 2
end

it "search finds by names and observations"
uar --json memory graph search "who wrote the first program?"
want code 0
want json_lines out
want out_has '{"query":"who wrote the first program?","hits":[{'
want out_has '"name":"Ada Lovelace"'
want out_has "\"observation\":{\"id\":\"$note\""
uar memory graph search zebra
want code 0
want err_has "nothing found"
end

it "neighbours and paths go along relations"
uar --json memory graph add "Analytical Engine" --kind machine
uar --json memory graph relate "Charles Babbage" designed "Analytical Engine"
uar --json memory graph neighbours "Charles Babbage"
want out_lines 2
uar --json memory graph neighbours "Charles Babbage" --direction out
want out_lines 1
want out_has '"type":"designed"'
uar --json memory graph path "Ada Lovelace" "Analytical Engine"
want json_lines out
want out_has '{"paths":[{"length":2,"steps":[{"forward":true,'
want out_has '"truncated":false,"visited":'
uar memory graph path "Analytical Engine" "Ada Lovelace"
want out_has "Analytical Engine ← designed — Charles Babbage ← wrote to — Ada Lovelace"
uar memory graph path "Ada Lovelace" Mercury --kind planet
want code 0
want err_has "no path"
uar memory graph path a b --direction up
want code 2
uar memory graph path a b --max-length 7
want code 2
end

it "unrelate ends a relation, which is still there as of earlier"
uar --json memory graph relate "Ada Lovelace" "married to" "Charles Babbage" --valid-from 2020-01-01
uar --json memory graph unrelate "Ada Lovelace" "married to" "Charles Babbage" --at 2021-01-01
want code 0
want out_has '"outcome":"updated"'
uar --json memory graph neighbours "Ada Lovelace" --type "married to"
want out_lines 0
uar --json memory graph neighbours "Ada Lovelace" --type "married to" --as-of 2020-06-01
want out_lines 1
want out_has '"valid_until":"2021-01-01T00:00:00.000Z"'
uar memory graph unrelate "Ada Lovelace" "married to" "Charles Babbage"
want code 6
uar memory graph unrelate a b
want code 2
end

it "forget erases an observation, and nothing else"
uar --json memory graph forget "$note"
want code 0
want out_has '"outcome":"erased"'
uar --json memory graph list --observations
want out_lines 0
uar memory graph forget "$ada"
want code 2
want err_has "this is an entity"
end

it "rename and merge keep the old names"
uar --json memory graph rename "Analytical Engine" "The Engine"
want code 0
uar --json memory graph get "analytical engine"
want out_has '"name":"The Engine"'
uar --json memory graph add "C. Babbage" --kind person
uar --json memory graph merge "Charles Babbage" "C. Babbage"
want code 0
want out_has "\"id\":\"$babbage\",\"outcome\":\"updated\""
uar --json memory graph get "c. babbage"
want out_has '"aliases":["C. Babbage"]'
end

it "records are linked to entities"
uar --json memory add "Ada published her notes in 1843"
record=$(value out id)
uar --json memory graph link "$record" "Ada Lovelace"
want code 0
want out_has '"outcome":"added"'
uar --json memory graph records "Ada Lovelace"
want out_lines 1
want out_has '"content":"Ada published her notes in 1843"'
uar --json memory graph entities "$record"
want out_has '"name":"Ada Lovelace"'
uar --json memory graph stats
want out_has '"links":1,"by_scope":{"global":0,"agent":0,"user":5'
uar --json memory graph unlink "$record" "Ada Lovelace"
want out_has '"outcome":"erased"'
uar --json memory graph unlink "$record" "Ada Lovelace"
want code 6
end

it "another user sees nothing of it; shared scopes need the flag"
uar --user bob --json memory graph list
want out_lines 0
uar --user bob memory graph get "$ada"
want code 6
uar memory graph add Oslo --scope global
want code 2
want err_has "may not write memory of global scope"
uar --allow-shared-memory memory graph add Oslo --scope global
want code 0
uar --user bob --json memory graph list
want out_lines 1
uar --user bob --json memory graph list --all-users
want out_lines 6
end

it "a file of the official memory server is imported, unknown names are told by line"
cat >server.jsonl <<'END'
{"type":"entity","name":"Tove","entityType":"person","observations":["keeps bees","likes rain"]}
{"type":"entity","name":"Library","entityType":"place","observations":[]}
{"type":"relation","from":"Tove","to":"Library","relationType":"reads in"}
{"type":"relation","from":"Tove","to":"Nobody","relationType":"knows"}
END
uar --json memory graph import server.jsonl
want code 2
want out_has '{"entities":2,"relations":1,"observations":2,"links":0,"repeated":0,"failed":1}'
want err_has 'server.jsonl:4: there is no entity called'
end

it "an export is imported in another store as it was"
uar --allow-shared-memory memory graph export
want code 0
want json_lines out
want out_has '"v":1,"item":"entity"'
cp out graph.jsonl
first=$STORE
new_store
uar --json --allow-shared-memory memory graph import graph.jsonl
want code 0
want out_has '"repeated":1,"failed":0'
uar memory graph export
want file_is graph.jsonl "$(cat out)"
STORE=$first
end

it "delete erases an entity with all about it"
uar --json memory graph delete Tove
want code 0
want out_has '"outcome":"erased"'
uar memory graph search bees
want err_has "nothing found"
uar memory graph delete Tove
want code 6
end

it "get prints all of an entity, also more than a page"
new_store
awk 'BEGIN {
    printf "{\"type\":\"entity\",\"name\":\"Hub\",\"entityType\":\"x\",\"observations\":["
    for (i = 0; i < 1200; i++) printf "%s\"note %d\"", i ? "," : "", i
    print "]}"
    for (i = 0; i < 1200; i++) {
        printf "{\"type\":\"entity\",\"name\":\"Leaf %d\",\"entityType\":\"x\",\"observations\":[]}\n", i
        printf "{\"type\":\"relation\",\"from\":\"Hub\",\"to\":\"Leaf %d\",\"relationType\":\"has\"}\n", i
    }
}' >hub.jsonl
uar --json memory graph import hub.jsonl
want code 0
uar --json memory graph get Hub
want code 0
want json_lines out
want same "$(grep -o '"type":"has"' out | wc -l)" 1200
want same "$(grep -o '"text":"note ' out | wc -l)" 1200
end

it "--kind is a condition, not a wish"
uar memory graph delete Hub --kind person
want code 6
uar memory graph get Hub --kind x
want code 0
uar memory graph relate Hub likes "Leaf 1" --kind person
want code 0
end

it "unrelate never erases an entity"
uar --json memory graph add Quay
quay=$(value out id)
uar memory graph unrelate "$quay" --erase
want code 2
want err_has "this is an entity, not a relation"
uar memory graph get Quay
want code 0
end

it "an end of 1970 is an end"
uar memory graph observe Quay "was built of wood" --valid-from 1950-01-01 --valid-until 1970-01-01
want code 0
uar --json memory graph list --observations
want out_lacks wood
uar --json memory graph list --observations --as-of 1960-01-01
want out_lines 1
end

plan
