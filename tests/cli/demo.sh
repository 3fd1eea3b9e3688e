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

it "the persistence layer in a file keeps every requirement, also when its data is opened again"
mkdir store
timeout 120 "$BUILD/examples/file_store" store >out 2>err
code=$?
want code 0
want out_has "requirements kept, 0 broken"
end

it "the persistence layer in a file is whole whenever its program is killed"
code=0
for wait in 0.01 0.03 0.05 0.08 0.13 0.21 0.34 0.55; do
    "$BUILD/examples/file_store" store >/dev/null 2>&1 &
    victim=$!
    sleep $wait
    kill -9 $victim 2>/dev/null
    wait $victim 2>/dev/null
done
timeout 120 "$BUILD/examples/file_store" store >out 2>err || code=$?
want code 0
want out_has "requirements kept, 0 broken"
end

it "the persistence layer in a file refuses a file that was changed"
printf x | dd of=store/records bs=1 seek=100 conv=notrunc 2>/dev/null
code=0
timeout 120 "$BUILD/examples/file_store" store >out 2>err || code=$?
want code 1
end

plan
