#!/bin/sh
# build.sh DOCENT FOLDER: the demo site as static files: this project's documentation, its index, the package, the page.
#
# Unchanged input gives unchanged files; the index builder's cache makes a second run quick.
set -eu
cd "$(dirname "$0")/../.."
docent=$1
site=$2

mkdir -p "$site/docs/www" "$site/docent"
for page in README.md ARCHITECTURE.md CHANGELOG.md; do
    [ -f "$page" ] && cp "$page" "$site/docs/"
done
cp www/demo/docent.toml "$site/docs/"
rm -rf "$site/docs/www/guide" && cp -R www/guide "$site/docs/www/guide"
cp www/demo/index.html www/demo/demo.css www/demo/explain.js "$site/"
cp pkg/*.js "$site/docent/"
rm -rf "$site/docent/wasm" "$site/docent/widget"
cp -R pkg/wasm pkg/widget "$site/docent/"
"$docent" index "$site/docs" --out "$site/docent-index" --base-url /docs/
