#!/bin/sh
# build-wasm.sh TARGET_DIR: compiles the two modules and writes them with their JavaScript into pkg/wasm/.
#
# The crate is one; the cargo features choose what a module holds. A module that has not changed is not processed again.
# No wasm-opt: what distributions ship does not read the table instructions that wasm-bindgen writes, and what npm ships makes
# the modules larger in gzip.
set -eu
cd "$(dirname "$0")/.."
target=$1
cargo=${CARGO:-cargo}
mkdir -p "$target/wasm-modules" pkg/wasm

# module FEATURE NAME
module() {
    "$cargo" build --profile "wasm-$1" --target wasm32-unknown-unknown --lib --no-default-features --features "$1"
    built="$target/wasm32-unknown-unknown/wasm-$1/docent.wasm"
    seen="$target/wasm-modules/$2.wasm"
    stamp="$target/wasm-modules/$2.stamp"
    how="$(wasm-bindgen --version)"
    if [ ! -f "pkg/wasm/$2_bg.wasm" ] || ! cmp -s "$built" "$seen" || [ "$(cat "$stamp" 2>/dev/null)" != "$how" ]; then
        # Function names are for debugging; they would be a fifth of what readers download.
        wasm-bindgen --target web --remove-name-section --remove-producers-section --out-dir pkg/wasm --out-name "$2" "$built"
        cp "$built" "$seen"
        echo "$how" >"$stamp"
    fi
}

module agent docent
module embedder docent_embedder
