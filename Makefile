# Thin: set-up is scripts/bootstrap.sh, building is CMake. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 30
TORCH ?= 2.10.0
PYTHON ?= python3
CTEST = ctest --output-on-failure --progress -j $(JOBS)

.PHONY: help setup build demo python test torch-test bench sparse-study fuzz golden gpu-test gpu-bundle gpu-bench lint format asan tsan install clean

help: ## this text
	@echo "Tokamak: a tensor program goes in, a few fused kernels come out."
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18
	@echo
	@echo "Start with 'make demo'. The first run installs what is missing (as root) or tells you how to."
	@echo "Variables: JOBS=$(JOBS) (parallel jobs), FUZZ_SECONDS=$(FUZZ_SECONDS) (per fuzz target), PREFIX=... (for install)."

setup:
	@scripts/bootstrap.sh build

build: setup ## build the command line: build/bin/tokamak
	@scripts/build.sh release tokamak
	@mkdir -p build/bin && ln -sfn ../release/bin/tokamak build/bin/tokamak

demo: build ## compile a transformer block, check it, time it, draw it; then the same under torch.compile
	@scripts/build.sh release tokamak_python
	@scripts/demo.sh

python: setup ## build the wheel into dist/ and install it into .venv
	@scripts/wheel.sh

test: setup ## build and run every test
	@scripts/build.sh dev all
	@cd build/dev && $(CTEST)
	@PYTHONPATH=build/dev/python .venv/bin/python -m pytest -q -n $(JOBS) tests/python

torch-test: ## the Python tests with the wheel under another torch: TORCH=2.10.0 PYTHON=python3.12 (gigabytes)
	@scripts/try_torch.sh $(TORCH) $(PYTHON)

bench: setup ## measure against a plain copy; writes build/bench.json
	@scripts/build.sh release tokamak_bench
	@build/release/bin/tokamak_bench --json build/bench.json $(BENCH_ARGS)

sparse-study: build ## fusion granularity of sparse models by simulation; GRAPHS=DIR of real graphs; writes docs/sparse-study.md
	@.venv/bin/python bench/sparse_study/study.py $(if $(GRAPHS),--graphs $(GRAPHS)) $(STUDY_ARGS)

fuzz: setup ## fuzz the parser, the pipeline, torch programs and the vector math, for a bounded time
	@scripts/build.sh fuzz fuzzers
	@scripts/build.sh release exhaustive_math tokamak_python
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

golden: setup ## rewrite the golden kernels, then look at 'git diff tests/golden'
	@scripts/build.sh dev golden_test
	@TOKAMAK_UPDATE_GOLDEN=1 build/dev/bin/golden_test --gtest_brief=1
	@git --no-pager diff --stat -- tests/golden

gpu-test: setup ## run the tests that need a GPU, on the one of this machine
	@scripts/build.sh release gpu_test
	@TOKAMAK_GPU_REQUIRED=1 build/release/bin/gpu_test --gtest_brief=1 $(GPU_TEST_ARGS)

gpu-bundle: setup ## pack those tests and the command line for a machine where nothing can be installed
	@scripts/gpu_bundle.sh

gpu-bench: ## time fused functions on this machine's GPU against eager and Inductor; wants torch with CUDA and tokamak
	@cd bench/gpu && python3 sweep.py $(GPU_BENCH_ARGS)

lint: ## clang-format, clang-tidy on changed files, ruff, the tree's own rules
	@scripts/bootstrap.sh lint
	@scripts/lint.sh

format: ## rewrite C++ and Python sources in the house style
	@scripts/bootstrap.sh lint
	@git ls-files -z '*.cpp' '*.h' | xargs -0 clang-format-19 -i
	@.venv/bin/ruff format -q python scripts tests bench examples

asan: setup ## run the tests with the address and undefined-behaviour sanitizers
	@scripts/build.sh asan all
	@cd build/asan && $(CTEST)

tsan: setup ## run the tests with the thread sanitizer
	@scripts/build.sh tsan all
	@cd build/tsan && TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.supp $$TSAN_OPTIONS" $(CTEST)

install: build ## install to PREFIX (default: CMake's)
	@scripts/build.sh release libtokamak
	@cmake --install build/release $(if $(PREFIX),--prefix $(PREFIX))

clean: ## remove build/
	rm -rf build
