#!/bin/sh
# need.sh THING…: makes sure that what a Makefile target uses is there.
#
# What can be installed without asking (a compilation target, a cargo tool, a Debian package when we are root) is installed;
# for the rest one readable line says what is missing and how to get it, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "docent: $1" >&2
    exit 1
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# The exact version of a crate in Cargo.lock.
locked_version() {
    awk -v name="\"$1\"" '$1 == "name" { found = ($3 == name) } found && $1 == "version" { gsub(/"/, "", $3); print $3; exit }' Cargo.lock
}

debian_install() {
    have apt-get && [ "$(id -u)" = 0 ] || return 1
    apt-get install -y -qq "$@" >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq "$@" >/dev/null; }
}

# Installs a cargo tool of an exact version. Without --locked: the tool's own lock file may name crates that are gone.
cargo_tool() {
    echo "installing $1 $2 (once) …" >&2
    # A folder of its own, so that a CARGO_TARGET_DIR shared with the project does not grow by a tool's build.
    CARGO_TARGET_DIR="${TMPDIR:-/tmp}/docent-tool-$1" cargo install --quiet --force "$1" --version "$2" \
        || fail "cargo could not install $1 $2; see the messages above"
    rm -rf "${TMPDIR:-/tmp}/docent-tool-$1"
}

need() {
    case "$1" in
    cargo)
        have cargo || fail "cargo is missing; install Rust with rustup (see the site of the Rust language), then run make again"
        ;;
    cc)
        have cc || have gcc || have clang || debian_install gcc libc6-dev \
            || fail "a C compiler is missing; install gcc or clang (Debian: apt-get install gcc libc6-dev, macOS: xcode-select --install)"
        ;;
    rustfmt | clippy)
        cargo "$([ "$1" = rustfmt ] && echo fmt || echo clippy)" --version >/dev/null 2>&1 \
            || rustup component add "$1" >&2 || fail "the Rust component $1 is missing; run: rustup component add $1"
        ;;
    wasm-target)
        sysroot=$(rustc --print sysroot)
        if [ ! -d "$sysroot/lib/rustlib/wasm32-unknown-unknown/lib" ]; then
            have rustup || fail "the compilation target wasm32-unknown-unknown is missing, and so is rustup, which installs it"
            rustup target add wasm32-unknown-unknown >&2 || fail "rustup could not add the target wasm32-unknown-unknown"
        fi
        ;;
    wasm-bindgen)
        version=$(locked_version wasm-bindgen)
        [ "$(wasm-bindgen --version 2>/dev/null)" = "wasm-bindgen $version" ] || cargo_tool wasm-bindgen-cli "$version"
        ;;
    wasm-pack)
        have wasm-pack || cargo_tool wasm-pack 0.13.1
        ;;
    node)
        have node && have npm || debian_install nodejs npm \
            || fail "Node.js 20 or newer with npm is missing (Debian: apt-get install nodejs npm)"
        major=$(node --version | sed 's/^v//; s/\..*//')
        [ "$major" -ge 20 ] || fail "Node.js $major is too old; 20 or newer is needed"
        ;;
    python3)
        have python3 || debian_install python3 python3-venv || fail "Python 3 is missing (Debian: apt-get install python3 python3-venv)"
        ;;
    chromium)
        sh tests/need.sh --chromium-path >/dev/null || debian_install chromium \
            || fail "Chromium or Chrome is missing (Debian: apt-get install chromium), or name it in the variable CHROME_PATH"
        ;;
    chromedriver)
        have chromedriver || debian_install chromium-driver \
            || fail "chromedriver is missing (Debian: apt-get install chromium-driver); it must have the version of the browser"
        ;;
    *)
        fail "need.sh does not know \`$1\`"
        ;;
    esac
}

# Prints where the browser is.
if [ "${1:-}" = --chromium-path ]; then
    for name in "${CHROME_PATH:-}" chromium chromium-browser google-chrome google-chrome-stable chrome \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        if [ -n "$name" ] && have "$name"; then
            command -v "$name"
            exit 0
        fi
    done
    exit 1
fi

for thing in "$@"; do
    need "$thing"
done
