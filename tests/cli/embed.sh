#!/bin/sh
# The sample of libuar-bert: what it says without a model, and what it finds with one.
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
plan
