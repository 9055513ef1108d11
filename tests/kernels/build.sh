#!/bin/sh
# build.sh FOLDER: compiles the encoder's kernels, with and without relaxed SIMD, into FOLDER/plain.wasm and FOLDER/relaxed.wasm.
set -eu
cd "$(dirname "$0")/../.."
folder=$1
mkdir -p "$folder"

# kernels NAME [CARGO_OPTION…]
kernels() {
    name=$1
    shift
    ${CARGO:-cargo} build --quiet --release --manifest-path tests/kernels/Cargo.toml --target wasm32-unknown-unknown \
        --target-dir "$folder/$name" "$@"
    cp "$folder/$name/wasm32-unknown-unknown/release/docent_kernels.wasm" "$folder/$name.wasm"
}

kernels plain
kernels relaxed --config 'target.wasm32-unknown-unknown.rustflags=["-C", "target-feature=+relaxed-simd"]'
