#!/bin/sh
# The samples over libuar-bert: what they say without a model, and what they find with one.
BUILD=$(cd "$1" && pwd)
MODEL=${UAR_BERT_MODEL:-${XDG_DATA_HOME:-$HOME/.local/share}/uar/models/all-MiniLM-L6-v2}
. "$(dirname "$0")/tap.inc"

embed() {
    timeout -k 1 60 "$BUILD/examples/embed" "$@" >out 2>err </dev/null
    code=$?
}

it "a folder that is no model is refused with what is missing"
embed "$WORK" question sentence
want code 1
want err_has 'config.json'
end

it "arguments that are missing are asked for"
embed "$WORK" question
want code 2
want err_has 'usage: embed'
end

name="the sentence that answers the question is the nearest"
if [ -f "$MODEL/model.safetensors" ]; then
    it "$name"
    embed "$MODEL" "Which foods can't she eat?" "The train to Bergen leaves at nine." "My sister is allergic to peanuts."
    want code 0
    sort -rn out >sorted
    want grep -q 'allergic' sorted
    want test "$(head -n 1 sorted | cut -c 9-16)" = "My siste"
    end
else
    skip "$name" "no model: run examples/fetch_model.sh"
fi

sample() {
    timeout -k 1 60 "$BUILD/examples/memory" "$@" >out 2>err </dev/null
    code=$?
}

it "the sample of memory remembers, walks a graph, reads a stream and is answered later, also a second time"
sample sample.db
want code 0
want out_has "added        We moved to Oslo in March."
want out_has "Which foods can't she eat? (lexical)"
want out_has "Ada -> works at -> Acme <- leads <- Bo"
want out_has "Moving house, the newest 16 tokens (1 left out)"
want out_has "later:       We moved to Oslo in March."
sample sample.db
want code 0
want out_has "reinforced   We moved to Oslo in March."
want out_has "Moving house, the newest 16 tokens (1 left out)"
end

it "the sample of memory names the file that it can't open"
sample "$WORK/nowhere/sample.db"
want code 1
want err_has "$WORK/nowhere/sample.db"
end

name="the sample of memory finds by meaning what was written before there was a model"
if [ -f "$MODEL/model.safetensors" ]; then
    it "$name"
    sample old.db
    want code 0
    sample old.db "$MODEL"
    want code 0
    want grep -A 1 "Which foods can't she eat? (hybrid)" out >found
    want grep -q "allergic to peanuts" found
    end
else
    skip "$name" "no model: run examples/fetch_model.sh"
fi
plan
