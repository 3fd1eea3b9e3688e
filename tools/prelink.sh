#!/bin/sh
# Make the installed archive: one relocatable object of the library and of the libraries it stands on, in which every
# symbol but uar_* is local, so that an app may link its own SQLite, cJSON or mbedtls beside it. UAR_KEEP, if set, is the
# pattern of the symbols that stay instead of uar_*.
# usage: prelink.sh OUTPUT WORK_DIR LIBUAR_INTERNAL PART... -- CC [ARG...]
# A PART is a C file, the path of a static library, or the name of one that the compiler finds.
set -eu

output=$1 work=$2 internal=$3
shift 3
mkdir -p "$work"
rm -f "$output" "$work"/*.o

parts=
while [ "$1" != -- ]; do
    parts="$parts $1"
    shift
done
shift
for word in "$@"; do
    compiler=$word
done

inputs=
for part in $parts; do
    case $part in
    *.c)
        object=$work/$(basename "$part" .c).o
        "$@" -std=c99 -O2 -fPIC -fvisibility=hidden -w -c "$part" -o "$object"
        inputs="$inputs $object"
        ;;
    */*)
        inputs="$inputs $part"
        ;;
    *)
        path=$("$compiler" "-print-file-name=$part")
        if [ "$path" = "$part" ]; then
            echo "prelink.sh: $compiler finds no $part" >&2
            exit 1
        fi
        inputs="$inputs $path"
        ;;
    esac
done

# shellcheck disable=SC2086
"${LD:-ld}" -r -o "$work/all.o" --whole-archive "$internal" --no-whole-archive --start-group $inputs --end-group
"${OBJCOPY:-objcopy}" --wildcard --keep-global-symbol="${UAR_KEEP:-uar_*}" "$work/all.o" "$work/uar.o"
"${OBJCOPY:-objcopy}" --wildcard --localize-symbol='uar_i_*' "$work/uar.o"
"${AR:-ar}" rcsD "$output" "$work/uar.o"
