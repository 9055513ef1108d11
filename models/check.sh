#!/bin/sh
# Checks the committed models against models.toml: present, and with the stated SHA-256. Needs no Python.
set -eu
cd "$(dirname "$0")"
if command -v sha256sum >/dev/null 2>&1; then hash="sha256sum"; else hash="shasum -a 256"; fi
awk '
    /^\[/ { in_files = ($0 == "[[models.files]]"); next }
    { split($0, pair, " = "); value = pair[2]; gsub(/"/, "", value) }
    pair[1] == "committed" { committed = (value == "true") }
    in_files && pair[1] == "path" { path = value }
    in_files && pair[1] == "sha256" && committed { print value "  " path }
' models.toml >"${TMPDIR:-/tmp}/docent-models.$$"
trap 'rm -f "${TMPDIR:-/tmp}/docent-models.$$"' EXIT
test -s "${TMPDIR:-/tmp}/docent-models.$$" || { echo "models.toml names no committed file" >&2; exit 1; }
if ! $hash -c "${TMPDIR:-/tmp}/docent-models.$$" >/dev/null; then
    echo "a committed model differs from models.toml; restore it with git, or with: python3 models/recipe/build.py" >&2
    exit 1
fi
