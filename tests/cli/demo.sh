#!/bin/sh
# The demonstration checks itself: it fails when a step doesn't show what it must.
BUILD=$(cd "$1" && pwd)
DEMO=$(cd "$(dirname "$0")/../.." && pwd)/examples/demo.sh
. "$(dirname "$0")/tap.inc"

TMPDIR=$WORK
export TMPDIR

it "the demonstration shows what it promises, in under a minute"
begun=$(date +%s)
timeout 120 sh "$DEMO" "$BUILD" >out 2>err </dev/null
code=$?
want code 0
want out_has "What to read next"
want test $(($(date +%s) - begun)) -lt 60
end

it "the demonstration fails where a step can't work"
mkdir -p fake/examples
printf '#!/bin/sh\nexit 0\n' >fake/examples/uar
chmod +x fake/examples/uar
timeout 60 sh "$DEMO" fake >out 2>err </dev/null
code=$?
want code 1
end

it "the quickstart answers with what its tool said"
timeout 60 "$BUILD/examples/quickstart" >out 2>err
code=$?
want code 0
want out_has "4"
end

it "the sample of lives renames, branches, exports, deletes, and erases one owner"
timeout 60 "$BUILD/examples/lifecycle" life.db >out 2>err
code=$?
want code 0
want err_empty
want out_has '"kind":"end"'
want out_has 'And in French?'
want out_has '"pending":false'
end

it "the persistence layer of the samples keeps every requirement"
timeout 60 "$BUILD/examples/own_store" >out 2>err
code=$?
want code 0
want out_has "requirements kept, 0 broken"
end

plan
