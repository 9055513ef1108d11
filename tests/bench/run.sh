#!/bin/sh
# run.sh DOCENT WORK: the benchmarks beside the peers, as one table at the end. The peers come from the npm registry into a
# cache; none of their install scripts is run. Without DOCENT_TESTDATA only the embedder is measured: the rest needs a real
# documentation. DOCENT_BENCH_SIZES sets the chunks of the growth, "1000 10000 100000" where nothing is said.
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
DOCENT_BENCH_ROWS=$work/rows.jsonl
export DOCENT_BENCH_ROWS
: >"$DOCENT_BENCH_ROWS"
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
docs=${DOCENT_TESTDATA:-}/corpora/vue-docs-en
if [ -n "${DOCENT_TESTDATA:-}" ] && [ -d "$docs" ]; then
    node tests/bench/search.mjs "$docent" pkg "$docs" "$work/search"
    # The growth is measured with what this build writes.
    rm -rf "$work/scale"
    "$docent" index "$docs" --out "$work/scale/real" --no-model >/dev/null
    # shellcheck disable=SC2086 # a list of numbers
    node tests/bench/scale.mjs "$docent" pkg "$work/scale/real" "$work/scale" ${DOCENT_BENCH_SIZES:-}
    if [ -f "$work/scale/10000/report.json" ]; then
        node tests/bench/vectors.mjs pkg "$work/scale/10000"
    fi
else
    echo "skipped: search beside Pagefind and Orama, growth, vectors beside hnswlib-wasm (DOCENT_TESTDATA is not set)"
fi
node tests/bench/rows.mjs
