#!/bin/sh
# check.sh: builds the sites anew with the real generators and runs the tests of the sources on what they built, so that a
# committed page that no generator writes any more is noticed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
sh "$here/build.sh" "$fresh"
cd "$here/../.."
DOCENT_SITES="$fresh" "${CARGO:-cargo}" test --features cli --test native sites::
