# The commands of this repository; `make help` lists them. Each installs its dependencies and
# terminates without input; only the demo asks the person at a terminal.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# .tools/bin comes first, so that the programs that tools/install pins take precedence over older
# ones.
export PATH := $(CURDIR)/.tools/bin:$(PATH)

# Every build uses the whole workspace and the unchanged lock file. Another selection of packages
# would change features and compile dependencies twice.
WORKSPACE := --workspace --locked

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The selection of `make test`, so that the tour has one build.
.PHONY: demo
demo: toolchain nats-server ## Run two jobs end to end on a nats-server of its own; DEMO="..." adds flags
	cargo build $(WORKSPACE) --bin callboard --test languages
	"$${CARGO_TARGET_DIR:-target}/debug/callboard" demo $(DEMO)

.PHONY: test
test: toolchain nats-server cargo-nextest python npm issuer clients node conformance mcp-servers mcp-servers-python axe-core prometheus chromium hadolint helm schemas ## Set up and run every test
	cargo nextest run $(WORKSPACE) $(NEXTEST)

.PHONY: lint lint-format lint-scripts lint-clippy lint-docs lint-dependencies
lint: lint-format lint-scripts lint-clippy lint-docs lint-dependencies ## Check format, types of the console, lints, documentation and dependencies; warnings are errors

lint-format: toolchain
	cargo fmt --all --check

# npm has its Node.js beside it, or both are on the PATH.
lint-scripts: npm typescript
	PATH="$$(dirname "$$(tools/install npm)"):$$PATH" .tools/typescript/node_modules/.bin/tsc --project gateway/web

lint-clippy: toolchain
	cargo clippy $(WORKSPACE) --all-targets -- --deny warnings

lint-docs: toolchain
	RUSTDOCFLAGS="--deny warnings" cargo doc $(WORKSPACE) --no-deps

lint-dependencies: toolchain cargo-deny
	cargo deny --locked check --hide-inclusion-graph bans licenses sources

# The nats-server releases of the bench: all measurements run on the first, some also on the others.
BENCH_SERVERS := 2.15.1 2.14.6

.PHONY: bench bench-peers
bench: toolchain ## Measure Callboard on real nats-servers, 15 minutes; BENCH="a --profile" selects, BENCH=--help says how
	cargo build --release $(WORKSPACE) --bins
	servers=(); for version in $(BENCH_SERVERS); do servers+=(--server "$$(tools/install nats-server $$version)"); done; \
	"$${CARGO_TARGET_DIR:-target}/release/callboard-bench" "$${servers[@]}" $(BENCH)
	@[ -n "$(BENCH)" ] || echo "What users would pick instead is measured beside it by: make bench-peers (half an hour; installs them)"

bench-peers: ## Measure Callboard and, in the same run, Restate, DBOS, LangGraph, Celery and Temporal; installs them
	@$(MAKE) bench BENCH_SERVERS=$(firstword $(BENCH_SERVERS)) BENCH="a b c d n peers --keeping default,always --sleeping 1000,2000,5000 $(BENCH)"

# In seconds; 0 fuzzes until a finding.
FUZZ_SECONDS := 60

.PHONY: fuzz
fuzz: ## Fuzz what is read from outside: TARGET=records|plans|subjects|agents|answers|replies; needs a nightly Rust and cargo-fuzz
	@cargo fuzz --version >/dev/null 2>&1 || { echo "cargo-fuzz is needed: cargo install cargo-fuzz --locked; and a compiler for it: rustup toolchain install nightly" >&2; exit 1; }
	@[ -d "fuzz/seeds/$(TARGET)" ] || { echo "TARGET is one of: $$(ls fuzz/seeds | xargs)" >&2; exit 1; }
	mkdir -p fuzz/corpus/$(TARGET)
	cargo +nightly fuzz run $(TARGET) fuzz/corpus/$(TARGET) fuzz/seeds/$(TARGET) -- -max_total_time=$(FUZZ_SECONDS) -max_len=65536

# The number of simulated worlds of a run, and the first seed.
SEEDS := 1000000
FROM := 0

.PHONY: simulate
simulate: toolchain ## Run the whole from SEEDS seeds, with everything that can go wrong: SEEDS=1000000 FROM=0
	cargo run --profile simulation --locked --package callboard-simulation -- --from $(FROM) --seeds $(SEEDS)

.PHONY: proof
proof: toolchain cargo-nextest ## Explore every model of the supervisor, those that take minutes too
	cargo nextest run --locked --package callboard-supervisor --run-ignored all -E 'test(/^proof::/)'

.PHONY: advisories
advisories: toolchain cargo-deny ## Check dependencies against the advisory database (fetches it)
	cargo deny --locked check advisories

.PHONY: pictures
pictures: toolchain nats-server cargo-nextest chromium ## Take the pictures of docs/console.md again, from the real pages in Chromium
	fonts="$$(tools/install fonts)" && FONTCONFIG_FILE="$$fonts" CALLBOARD_WRITE_PICTURES=1 cargo nextest run $(WORKSPACE) -E 'package(callboard-browser) and test(the_pictures_of_the_document)' --no-tests fail

.PHONY: packages
packages: toolchain ## Build a wheel and an npm package with the program, in target/packages
	cargo build --locked --release --package callboard
	deploy/packages/build --strip "$${CARGO_TARGET_DIR:-target}/release/callboard" target/packages

.PHONY: fmt
fmt: toolchain ## Format the sources
	cargo fmt --all

.PHONY: tools
tools: nats-server cargo-nextest cargo-deny python npm issuer clients typescript node conformance mcp-servers mcp-servers-python axe-core prometheus chromium hadolint helm schemas ## Install nats-server, nextest and what else tests need into .tools/

.PHONY: nats-server cargo-nextest cargo-deny python npm issuer clients typescript node conformance mcp-servers mcp-servers-python axe-core hadolint helm schemas
nats-server cargo-nextest cargo-deny python npm issuer clients typescript node conformance mcp-servers mcp-servers-python axe-core hadolint helm schemas:
	@tools/install $@ >/dev/null

# Only Debian packages them; elsewhere the tests that need them are skipped with a message, except in
# CI.
.PHONY: prometheus chromium
prometheus chromium:
	@tools/install $@ >/dev/null || [ "$${CI:-}" != true ]

# Explains how to install Rust, in place of "cargo: command not found".
.PHONY: toolchain
toolchain:
	@cargo --version >/dev/null || { echo "Rust is needed: install rustup, which then fetches the release that rust-toolchain.toml names." >&2; exit 1; }
