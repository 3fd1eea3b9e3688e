#!/bin/sh
# What bench_vectors is compared with, into a folder: sqlite-vec's loadable extension (npm) and hnswlib's headers (Debian).
# usage: fetch_peers.sh FOLDER
# Fetched by package name, nothing is installed. What can't be had is named, and the benchmarks do without it.
set -eu
[ $# -eq 1 ] || {
    echo "usage: fetch_peers.sh FOLDER" >&2
    exit 2
}
mkdir -p "$1"
cd "$1"

fetch_sqlite_vec() {
    case $(uname -s)-$(uname -m) in
    Linux-x86_64) package=sqlite-vec-linux-x64 ;;
    Linux-aarch64) package=sqlite-vec-linux-arm64 ;;
    *) return 1 ;;
    esac
    command -v npm >/dev/null 2>&1 || return 1
    npm pack --silent "$package@0.1.9" >/dev/null 2>&1 || return 1
    tar -xzf "$package-0.1.9.tgz" package/vec0.so || return 1
    mv package/vec0.so vec0.so
}

fetch_hnswlib() {
    [ ! -f /usr/include/hnswlib/hnswlib.h ] || return 0
    command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
    apt-get download libhnswlib-dev >/dev/null 2>&1 || return 1
    for file in libhnswlib-dev_*.deb; do
        dpkg-deb -x "$file" . || return 1
    done
}

[ -f vec0.so ] || fetch_sqlite_vec || echo "no sqlite-vec to compare with: npm package sqlite-vec@0.1.9 can't be had"
[ -f usr/include/hnswlib/hnswlib.h ] || fetch_hnswlib ||
    echo "no hnswlib to compare with: Debian package libhnswlib-dev can't be had"
