#!/bin/sh
# build-wasm.sh TARGET_DIR: compiles the two modules and writes them with their JavaScript into pkg/wasm/.
#
# The crate is one; the cargo features choose what a module holds. A module that has not changed is not processed again.
set -eu
cd "$(dirname "$0")/.."
target=$1
cargo=${CARGO:-cargo}
mkdir -p "$target/wasm-modules" pkg/wasm

# module FEATURE NAME OPT_LEVEL
module() {
    "$cargo" build --quiet --profile wasm --target wasm32-unknown-unknown --lib --no-default-features --features "$1" \
        --config "profile.wasm.opt-level=$3"
    built="$target/wasm32-unknown-unknown/wasm/docent.wasm"
    seen="$target/wasm-modules/$2.wasm"
    stamp="$target/wasm-modules/$2.stamp"
    how="$(wasm-bindgen --version) ${WASM_OPT:-none}"
    if [ ! -f "pkg/wasm/$2_bg.wasm" ] || ! cmp -s "$built" "$seen" || [ "$(cat "$stamp" 2>/dev/null)" != "$how" ]; then
        wasm-bindgen --target web --out-dir "$target/wasm-modules/out" --out-name "$2" "$built"
        if [ -n "${WASM_OPT:-}" ]; then
            shrink "$target/wasm-modules/out/$2_bg.wasm"
        fi
        cp "$target/wasm-modules/out/$2"* pkg/wasm/
        cp "$built" "$seen"
        echo "$how" >"$stamp"
    fi
}

# Shrinks a module in place. A tool that does not accept the module leaves it as it is: smaller is better, not required.
shrink() {
    if "$WASM_OPT" -O2 --enable-simd --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int \
        --enable-mutable-globals --enable-reference-types --enable-multivalue "$1" -o "$1.small" 2>"$1.log"; then
        mv "$1.small" "$1"
    else
        echo "wasm-opt did not accept $(basename "$1"); it stays as the compiler made it" >&2
    fi
    rm -f "$1.small" "$1.log"
}

module agent docent '"s"'
module embedder docent_embedder 3
