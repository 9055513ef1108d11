#!/bin/sh
# build-wasm.sh TARGET_DIR: compiles the modules and writes them with their JavaScript into pkg/wasm/.
#
# The crate is one; the cargo features choose what a module holds. The embedder is built twice: pkg/dense.js takes the build
# with relaxed SIMD where the engine makes it fast. A module that has not changed is not processed again.
# No wasm-opt: what distributions ship does not read the table instructions that wasm-bindgen writes, and what npm ships makes
# the modules larger in gzip.
set -eu
cd "$(dirname "$0")/.."
target=$1
cargo=${CARGO:-cargo}
mkdir -p "$target/wasm-modules" pkg/wasm

# module FEATURE PROFILE NAME [CARGO_OPTION…]
module() {
    feature=$1 profile=$2 name=$3
    shift 3
    "$cargo" build --profile "$profile" --target wasm32-unknown-unknown --lib --no-default-features --features "$feature" "$@"
    built="$target/wasm32-unknown-unknown/$profile/docent.wasm"
    seen="$target/wasm-modules/$name.wasm"
    stamp="$target/wasm-modules/$name.stamp"
    how="$(wasm-bindgen --version) $(cksum <pkg/strip-comments.sh)"
    if [ ! -f "pkg/wasm/${name}_bg.wasm" ] || ! cmp -s "$built" "$seen" || [ "$(cat "$stamp" 2>/dev/null)" != "$how" ]; then
        # Function names are for debugging; they would be a fifth of what readers download.
        wasm-bindgen --target web --remove-name-section --remove-producers-section --out-dir pkg/wasm --out-name "$name" "$built"
        sh pkg/strip-comments.sh "pkg/wasm/$name.js"
        cp "$built" "$seen"
        echo "$how" >"$stamp"
    fi
}

module agent wasm-agent docent
module embedder wasm-embedder docent_embedder
module embedder wasm-embedder-relaxed docent_embedder_relaxed \
    --config 'target.wasm32-unknown-unknown.rustflags=["-C", "target-feature=+relaxed-simd"]'
