#!/bin/sh
# all.sh: every kind of test, in an order in which the cheap ones come first; the last line counts them all.
#
# A step that fails does not hide the ones after it. A step without counts of its own (format, lints, size) counts as one.
# A test that prints a line `skipped: …` counts as skipped.
set -u
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
logs="$target/test-logs"
mkdir -p "$logs"
rm -f "$logs"/*.log
passed=0
failed=0
skipped=0
: "${DOCENT_TESTDATA:=}"
export DOCENT_TESTDATA

# step NAME COMMAND…: runs a command, shows what it prints, and adds its counts.
step() {
    name=$1
    shift
    echo
    echo "==== $name"
    started=$(date +%s)
    { "$@" 2>&1 && echo ok >"$logs/$name.status" || echo failed >"$logs/$name.status"; } | tee "$logs/$name.log"
    status=$(cat "$logs/$name.status")
    set -- $(awk '
        /^test result: / { for (i = 1; i <= NF; i++) { if ($i ~ /^passed/) p += $(i-1); if ($i ~ /^failed/) f += $(i-1); if ($i ~ /^ignored/) s += $(i-1) } n++ }
        /^(ℹ|#) pass / { p += $3; n++ }
        /^(ℹ|#) fail / { f += $3 }
        /^(ℹ|#) cancelled / { f += $3 }
        /^(ℹ|#) skipped / { s += $3 }
        /^[ \t]*skipped: / { quiet++ }
        END { print p - quiet + 0, f + 0, s + quiet + 0, n + 0 }' "$logs/$name.log")
    if [ "$4" = 0 ] && [ "$status" = ok ] && [ "$3" != 0 ]; then
        set -- 0 0 "$3" 1
    elif [ "$4" = 0 ]; then
        [ "$status" = ok ] && set -- 1 0 0 1 || set -- 0 1 0 1
    elif [ "$status" != ok ] && [ "$2" = 0 ]; then
        # It broke outside of its tests, for instance while it was compiled.
        set -- "$1" 1 "$3" "$4"
    fi
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
    echo "---- $name: $1 passed, $2 failed, $3 skipped, $(($(date +%s) - started)) s"
}

clippy_on() {
    cargo clippy --quiet "$@" --all-targets -- -D warnings
}

# The Chinese and English model is not committed; the tests that need it say so when its packages cannot be had.
multilingual_model() {
    sh models/multilingual.sh && return
    [ $? = 3 ] && echo "skipped: multilingual-e5-small (its packages cannot be had)"
}

step prerequisites sh tests/need.sh cargo cc rustfmt clippy wasm-target wasm-bindgen wasm-pack node python3 chromium chromedriver
step format cargo fmt --check
step clippy-native clippy_on --features cli
step clippy-wasm clippy_on --target wasm32-unknown-unknown
step models make --no-print-directory models
step multilingual-model multilingual_model
step native make --no-print-directory native
if [ "${DOCENT_SLOW:-}" = 1 ]; then
    step sites sh tests/sites/check.sh
else
    echo "skipped: the site generators (DOCENT_SLOW is not set)" >"$logs/sites.log"
    skipped=$((skipped + 1))
    echo ok >"$logs/sites.status"
fi
step package make --no-print-directory pkg
step size make --no-print-directory size
step web make --no-print-directory web
step js make --no-print-directory js
step e2e make --no-print-directory e2e
if [ -n "${DOCENT_SLOW:-}" ]; then
    step recipe python3 models/recipe/build.py --rebuild
    step corpora make --no-print-directory corpora
fi

echo
for log in "$logs"/*.log; do
    [ "$(cat "${log%.log}.status")" = ok ] || echo "failed: $(basename "$log" .log), see $log"
done
grep -h '^[ 	]*skipped: ' "$logs"/*.log | sort | uniq -c || true
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
