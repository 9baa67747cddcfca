# `make demo` and `make test` do all their own set-up in .venv, given Python and a C++ compiler.
PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
EDITABLE := $(PIP) --no-build-isolation --editable

# The compiler and build tools of PyPI are used if the machine has none of its own.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

CPP := $(shell find cpp/bind cpp/include cpp/src -name '*.[ch]pp')
CPP_TESTS := $(shell find cpp/tests cpp/fuzz benchmarks -name '*.[ch]pp')

.DEFAULT_GOAL := help
.PHONY: help venv build demo test cpp-test sanitize fuzz fuzz-smoke pinned soak calibration stub lint format bench docs gallery dist dist-check cross-check audit clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: .venv/.made  ## Make the virtual environment with the build tools
build: .venv/.built  ## Build and install the package, editable, into .venv

demo: .venv/.built  ## Screen a small drifting stream and print the ranking before and after
	@$(BIN)/python -m driftsieve.cli.demo_stream

test: .venv/.test .venv/.browser cpp-test  ## Run the Python and the C++ tests
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

# The report is tested in a real browser, which only root can install on Debian.
.venv/.browser: | .venv/.built
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	  apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "No Chromium here: the tests of the report in a browser will be skipped."
	@touch $@

# Nothing is built in isolation, so PySpark, which comes as source, needs setuptools here too.
.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Driftsieve needs Python 3.11 or newer; name one with make PYTHON=python3.12." >&2; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "Driftsieve needs a C++20 compiler; install g++ or clang++, or name one with CXX." >&2; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig as s; sys.exit(not os.path.exists(s.get_path("include") + "/Python.h"))' || \
	  { echo "Driftsieve needs the headers of Python; install python3-dev, or name another PYTHON." >&2; exit 1; }
	@echo "Making the virtual environment .venv"
	@$(PYTHON) -m venv .venv
	@$(if $(PINNED),$(PIP) --require-hashes --no-deps -r requirements/ci.txt,\
	  $(PIP) 'scikit-build-core>=0.11' 'nanobind>=2.5' 'setuptools>=70.1')
	@touch $@

# scikit-build-core knows whether the cmake and ninja on PATH will do, and names those of PyPI if not.
.venv/.built: .venv/.made pyproject.toml CMakeLists.txt $(CPP)
	@echo "Building and installing driftsieve"
	@needs=$$($(BIN)/python -c 'from scikit_build_core.build import get_requires_for_build_editable as f; \
	  print(*f())') && { test -z "$$needs" || $(PIP) $$needs; }
	@$(EDITABLE) .
	@touch $@

.venv/.%: pyproject.toml | .venv/.built
	@echo "Installing the tools for: $*"
	@$(EDITABLE) '.[$*]'
	@touch $@

cpp-test: .venv/.built  ## Build and run the C++ tests
	@cmake -S . -B build/cpp -G Ninja -DDRIFTSIEVE_TESTS=ON -DDRIFTSIEVE_BENCH=ON >/dev/null
	@cmake --build build/cpp
	@build/cpp/driftsieve_tests

sanitize: .venv/.test  ## Run the C++ tests and the laws under ASan with UBSan, and under TSan
	@tests/sanitize.sh

# Inputs that libFuzzer finds stay in build/fuzz-corpus; a crash leaves its input in build/.
FUZZ_SECONDS ?= 600
FUZZ_STATES := bank screener history checkpoint
FUZZ_FILES := csv jsonl svmlight parquet arrow compressed

fuzz: build/fuzz/made .venv/.fuzz  ## Fuzz every reader of bytes and files for FUZZ_SECONDS each
	@for kind in bank svmlight; do mkdir -p build/fuzz-corpus/$$kind && \
	  build/fuzz/fuzz_$$kind -rss_limit_mb=2048 -timeout=10 -max_len=4096 -artifact_prefix=build/ \
	    -max_total_time=$(FUZZ_SECONDS) build/fuzz-corpus/$$kind cpp/fuzz/corpus/$$kind \
	    2>build/fuzz-$$kind.log || { tail -40 build/fuzz-$$kind.log; exit 1; }; \
	  grep '^Done' build/fuzz-$$kind.log | sed "s/^/C++ $$kind: /"; done
	@for kind in $(FUZZ_STATES) $(FUZZ_FILES); do \
	  $(BIN)/python tests/fuzz/fuzz_python.py $$kind -max_total_time=$(FUZZ_SECONDS) \
	    2>build/fuzz-python-$$kind.log || { tail -40 build/fuzz-python-$$kind.log; exit 1; }; \
	  grep '^Done' build/fuzz-python-$$kind.log | sed "s/^/Python $$kind: /"; done

fuzz-smoke:  ## Fuzz every reader for a few seconds, a minute in all
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=5

build/fuzz/made: .venv/.built $(CPP) $(wildcard cpp/fuzz/*.[ch]pp)
	@command -v clang++ >/dev/null || \
	  { echo "Fuzzing needs clang with libFuzzer; on Debian 12: apt-get install clang libclang-rt-14-dev." >&2; exit 1; }
	@cmake -S . -B build/fuzz -G Ninja -DDRIFTSIEVE_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++ >/dev/null
	@cmake --build build/fuzz
	@touch $@

pinned:  ## Install all tools at pinned versions, checked by hash, as CI does; for Python 3.11
	@$(MAKE) --no-print-directory venv PINNED=1
	@$(PIP) --require-hashes --no-deps -r requirements/ci.txt

soak: .venv/.built  ## Stream 10^8 faded rows and compare the scores with the offline ones
	@$(BIN)/python tests/hardening/soak.py

calibration: .venv/.test  ## Measure how many p-values of noise are small; writes docs/statistics.md
	@cd tests && ../$(BIN)/python -m calibration $(ARGS)

stub: .venv/.built  ## Regenerate the type stub of the extension
	@$(BIN)/python -m nanobind.stubgen -q -m driftsieve._core -o src/driftsieve/_core.pyi

lint: .venv/.lint  ## Check formatting, style, types, layers and C++ layout
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(CPP) $(CPP_TESTS)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --verbose >build/layers.txt || { cat build/layers.txt; exit 1; }

format: .venv/.lint  ## Put Python and C++ into the project's layout
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP) $(CPP_TESTS)

.PHONY: bench-scaling bench-spark bench-arena bench-instructions bench-parallel bench-docs
bench: .venv/.bench  ## Measure every goal, side by side with other libraries (ARGS=--help)
	@$(BIN)/python -m benchmarks $(ARGS)

bench-scaling: .venv/.bench  ## Time and state as rows, features, classes, epsilon and batches grow
	@$(BIN)/python -m benchmarks.scaling --images build $(ARGS)

bench-spark: .venv/.bench-spark  ## Spark: ours beside its own, shuffled bytes, one and two workers
	@$(BIN)/python -m benchmarks.spark $(ARGS)

bench-arena: .venv/.bench  ## Online selectors on streams that drift; the figures of docs/arena.md
	@$(BIN)/python -m benchmarks.arena $(ARGS)

.PHONY: hot-loops
hot-loops: .venv/.built
	@cmake -S . -B build/hot -G Ninja -DDRIFTSIEVE_BENCH=ON >/dev/null
	@cmake --build build/hot --target driftsieve_hot_loops

bench-instructions: hot-loops  ## Count the instructions of the hot loops; fail if 5 % above record
	@$(BIN)/python -m benchmarks.instructions build/hot/driftsieve_hot_loops $(ARGS)

bench-parallel: hot-loops  ## Count the instructions of each of two threads that add sparse rows
	@$(BIN)/python -m benchmarks.parallel build/hot/driftsieve_hot_loops

bench-docs: .venv/.bench  ## Measure all of it, and put the figures into docs/performance.md
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.scaling --images docs/images
	@$(BIN)/python -m benchmarks.page

# Not --quiet: it would hide warnings from --strict too.
GALLERY ?= sensors text_tfidf urls clicks river_stream spark_days
docs: .venv/.docs  ## Build the documentation as a site, in site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2>build/docs.txt || { grep -v ^INFO build/docs.txt; exit 1; }

gallery: .venv/.test .venv/.browser  ## Make the pictures in docs/images: run the examples, open a report
	@cd docs/images/gallery && for file in $(GALLERY); do \
	  echo "examples/$$file.py" && ../../../$(BIN)/python ../../../examples/$$file.py >/dev/null || exit 1; done
	@$(BIN)/python tools/report_picture.py docs/images/report.png

# The time of the last commit is used instead of the clock, so the same commit gives the same bytes.
dist: .venv/.dist  ## Build the source distribution and the wheel, in dist/
	@rm -rf dist
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --no-isolation

PYTHONS ?= python3.11 python3.12 python3.13 python3.14
dist-check: .venv/.dist  ## Build both twice and compare; try the wheel in bare PYTHONS and at the lower bounds
	@tests/dist_check.sh $(PYTHONS)

cross-check: .venv/.cross  ## Test the core on ARM64 (qemu) and as a Windows program (wine), compile it for macOS
	@tests/cross_check.sh

audit: .venv/.audit  ## Check everything that is pinned for vulnerabilities that PyPI lists
	@$(BIN)/pip-audit --strict --disable-pip --progress-spinner off -r requirements/ci.txt

clean:  ## Remove everything that was made here
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
