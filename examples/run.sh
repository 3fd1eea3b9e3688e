#!/bin/sh
# Build the library and its example programs, then show what they do. Works on a fresh Debian machine.
# usage: examples/run.sh
set -eu
cd "$(dirname "$0")/.."

. tools/setup.sh
# shellcheck disable=SC2086
setup_packages $UAR_PACKAGES_BUILD
setup_configure out/examples -Dtests=false -Darchive=disabled
setup_compile out/examples
sh examples/demo.sh out/examples
