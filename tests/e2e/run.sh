#!/bin/sh
# run.sh DOCENT FOLDER [TEST…]: the end-to-end tests against FOLDER/site, served by the binary DOCENT.
set -eu
cd "$(dirname "$0")/../.."
DOCENT_BIN=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
DOCENT_E2E=$(cd "$2" && pwd)
CHROME_PATH=$(sh tests/need.sh --chromium-path)
# The driver of the browser is a development tool: it lives in a cache, not in the checkout.
DOCENT_NODE_TOOLS="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/docent/node-tools"
stamp="$DOCENT_NODE_TOOLS/playwright-1.65.1-axe-4.14.1"
if [ ! -f "$stamp" ]; then
    mkdir -p "$DOCENT_NODE_TOOLS"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$DOCENT_NODE_TOOLS" playwright-core@1.65.1 axe-core@4.14.1 >&2
    : >"$stamp"
fi
export DOCENT_BIN DOCENT_E2E CHROME_PATH DOCENT_NODE_TOOLS
shift 2
[ $# -gt 0 ] || set -- tests/e2e/*.test.mjs
exec node --test --test-concurrency=1 "$@"
