#!/bin/sh
# Lay cJSON's two source files into a folder, from Debian's source package: its binary package has no static library,
# and the prelinked archive needs the object. Uses the machine's own package sources and leaves them as they are.
# usage: fetch_cjson.sh FOLDER
set -eu

target=$1
if [ -f "$target/cJSON.c" ] && [ -f "$target/cJSON.h" ]; then
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/parts" "$work/source" "$target"

# The machine's sources once more, as source entries, in a list of our own.
count=0
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$list" ] || continue
    grep -hE '^deb(-src)? .*debian' "$list" | sed -E 's/^deb /deb-src /' >>"$work/parts/own.list" || true
done
for list in /etc/apt/sources.list.d/*.sources; do
    [ -f "$list" ] || continue
    grep -qE '^URIs:.*debian' "$list" || continue
    count=$((count + 1))
    sed -E 's/^Types:.*/Types: deb-src/' "$list" >"$work/parts/own$count.sources"
done

apt() {
    apt-get -qq -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$work/parts" \
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o "APT::Sandbox::User=root" \
        -o "DPkg::Lock::Timeout=300" "$@"
}
apt update
(cd "$work/source" && apt source --download-only cjson && dpkg-source --no-check -x cjson_*.dsc cjson) >/dev/null
cp "$work/source/cjson/cJSON.c" "$work/source/cjson/cJSON.h" "$target/"
