#!/bin/sh
# run.sh DOCENT WORK: the benchmarks beside the peers. The peers come from the npm registry into a cache; none of their
# install scripts is run.
set -eu
cd "$(dirname "$0")/../.."
docent=$1
work=$2
cache=${DOCENT_CACHE:-$HOME/.cache/docent}/bench
mkdir -p "$cache" "$work"
cp tests/bench/package.json "$cache/"
echo "fetching the peers (once) …" >&2
npm install --prefix "$cache" --ignore-scripts --no-audit --no-fund --silent
# The scripts find the peers beside them.
ln -sfn "$cache/node_modules" tests/bench/node_modules
# The model in onnxruntime's other formats; its best counts.
if python=$(python3 models/recipe/build.py --python) && "$python" models/recipe/peer_formats.py "$cache/formats"; then
    node tests/bench/embedding.mjs pkg "$cache"/formats/*.onnx
    if [ -n "${DOCENT_TESTDATA:-}" ]; then
        "$python" tests/bench/indexing.py "$docent" "$cache/formats" "$work" \
            "$DOCENT_TESTDATA/eval/milvus-faq-en" "$DOCENT_TESTDATA/eval/mtrag-un"
    else
        echo "skipped: native embedding beside onnxruntime (DOCENT_TESTDATA is not set)"
    fi
else
    echo "skipped: the peer's other formats and native embedding (the recipe's environment cannot be made)"
    node tests/bench/embedding.mjs pkg
fi
if [ -n "${DOCENT_TESTDATA:-}" ]; then
    node tests/bench/search.mjs "$docent" pkg "$DOCENT_TESTDATA/corpora/vue-docs-en" "$work/search"
else
    echo "skipped: search beside Pagefind and Orama (DOCENT_TESTDATA is not set)"
fi
