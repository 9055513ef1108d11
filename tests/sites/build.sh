#!/bin/sh
# build.sh [FOLDER]: builds the pages of this folder again with the real generators, from docs/ and sphinx-docs/; into
# FOLDER where one is named.
#
# The tests read what is committed here; this script says where it came from, and shows by `git diff` what a newer generator
# would change. `make test-all` builds into another folder and reads that (check.sh). The generators are installed into a
# folder outside of the source tree, in the versions that are named here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here
if [ $# -gt 0 ]; then
    mkdir -p "$1"
    out=$(cd "$1" && pwd)
    cp -R "$here/docs" "$here/sphinx-docs" "$out/"
fi
tools=${DOCENT_SITE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/docent/site-tools}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$tools"
[ -x "$tools/venv/bin/python" ] || python3 -m venv "$tools/venv"
"$tools/venv/bin/pip" --quiet --disable-pip-version-check install mkdocs==1.6.1 mkdocs-material==9.5.49 sphinx==8.1.3
(cd "$tools" && npm install --silent --no-audit --no-fund --no-save vitepress@1.5.0 @11ty/eleventy@3.0.0 github-slugger@2.0.0)

# keep NAME BUILT: takes over the pages of a built site, without styles and scripts.
keep() {
    rm -rf "${out:?}/$1"
    (cd "$2" && find . -name '*.html' | sort) | while read -r page; do
        mkdir -p "$out/$1/$(dirname "$page")"
        # Scripts and styles make up most of a page, and no reader of content looks at them.
        "$tools/venv/bin/python" - "$2/$page" "$out/$1/$page" <<'PY'
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
text = re.sub(r"<script\b[^>]*>.*?</script>", "<script></script>", text, flags=re.S)
text = re.sub(r"<style\b[^>]*>.*?</style>", "<style></style>", text, flags=re.S)
text = re.sub(r"<svg\b[^>]*>.*?</svg>", "<svg></svg>", text, flags=re.S)
open(sys.argv[2], "w", encoding="utf-8").write(text)
PY
    done
}

# MkDocs with Material.
cp -r "$here/docs" "$work/mkdocs-docs"
cat >"$work/mkdocs.yml" <<'YML'
site_name: Kettle
docs_dir: mkdocs-docs
site_dir: mkdocs-site
theme: { name: material, font: false }
markdown_extensions: [attr_list, md_in_html, { toc: { permalink: true } }]
plugins: []
YML
"$tools/venv/bin/mkdocs" --quiet build --config-file "$work/mkdocs.yml"
keep mkdocs "$work/mkdocs-site"

# Sphinx.
"$tools/venv/bin/sphinx-build" -q -b html "$here/sphinx-docs" "$work/sphinx-site"
keep sphinx "$work/sphinx-site"

# VitePress.
mkdir -p "$work/vitepress/.vitepress"
cp -r "$here/docs/." "$work/vitepress/"
ln -s "$tools/node_modules" "$work/vitepress/node_modules"
cat >"$work/vitepress/.vitepress/config.mjs" <<'JS'
export default {
  title: 'Kettle',
  themeConfig: { nav: [{ text: 'Guide', link: '/guide/install' }], sidebar: [{ text: 'Install', link: '/guide/install' }] },
}
JS
echo '{ "type": "module" }' >"$work/vitepress/package.json"
(cd "$work/vitepress" && node node_modules/vitepress/bin/vitepress.js build . >/dev/null)
keep vitepress "$work/vitepress/.vitepress/dist"

# Eleventy, with a layout of its own: it makes no anchors and knows no landmarks but ours.
mkdir -p "$work/eleventy/_includes"
cp -r "$here/docs/." "$work/eleventy/"
cat >"$work/eleventy/_includes/page.html" <<'HTML'
<!doctype html><html lang="en"><head><title>{{ title }} - Kettle</title></head><body>
<header><a href="/">Kettle</a></header><nav><a href="/guide/install/">Install</a></nav>
<div class="content">{{ content }}</div>
<div class="cookie-consent">We use cookies. <button>Accept</button></div>
<footer>A test.</footer></body></html>
HTML
echo '{ "layout": "page.html" }' >"$work/eleventy/eleventy.json"
for folder in . guide zh; do echo '{ "layout": "page.html" }' >"$work/eleventy/$folder/$(basename "$(cd "$work/eleventy/$folder" && pwd)").json"; done
(cd "$work/eleventy" && node "$tools/node_modules/@11ty/eleventy/cmd.cjs" --quiet --input=. --output=_site)
keep eleventy "$work/eleventy/_site"

# The anchors of github-slugger, which Docusaurus, Nextra and Starlight use, for the headings of docs/.
cat >"$work/slugs.mjs" <<'JS'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
const [tools, docs, out] = process.argv.slice(2)
const { default: GithubSlugger } = await import(`${tools}/node_modules/github-slugger/index.js`)
const slugs = {}
for (const page of ['index.md', 'guide/install.md', 'zh/install.md']) {
  const slugger = new GithubSlugger()
  const text = readFileSync(`${docs}/${page}`, 'utf8').replace(/```[^]*?```/g, '')
  slugs[page] = [...text.matchAll(/^#+ (.*?)(?: \{#(.*)\})?$/gm)].map((m) => m[2] ?? slugger.slug(m[1].replace(/[`*]/g, '')))
}
writeFileSync(out, JSON.stringify(slugs, null, 2) + '\n')
JS
node "$work/slugs.mjs" "$tools" "$here/docs" "$out/github-slugger.json"
echo "built: mkdocs, sphinx, vitepress, eleventy, github-slugger.json"
