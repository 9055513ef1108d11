#!/bin/sh
# setup.sh: makes Qdrant's engine core and the models of its client ready, from PyPI.
#
# Prints the Python interpreter that has them. The packages go into a cache outside of the checkout (DOCENT_ENGINE_CACHE,
# else the user's cache folder), about 100 MB, and are fetched once. Exits with 3 and a sentence when they cannot be had.
set -eu
cache=${DOCENT_ENGINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/docent/engine}
python=${PYTHON:-python3}
packages="qdrant-edge-py==0.9.0 qdrant-client==1.20.0"

cannot() {
    echo "$1" >&2
    exit 3
}

if [ ! -f "$cache/ready" ]; then
    command -v "$python" >/dev/null 2>&1 || cannot "Qdrant's engine core needs Python 3"
    mkdir -p "$cache"
    "$python" -m venv "$cache/venv" >&2 || cannot "Python's venv module is missing (Debian: apt install python3-venv)"
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check $packages >&2 || cannot "PyPI does not give $packages"
    : >"$cache/ready"
fi
echo "$cache/venv/bin/python"
