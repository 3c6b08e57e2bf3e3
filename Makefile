# SPDX-License-Identifier: Apache-2.0
# A front for CMake, ctest and tools/. `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help

SEEDS ?= 1000
SEED ?=
TIME ?= 60
ONLY ?=
FILTER ?= .
ARGS ?=
# Warnings are errors wherever the tests are built, as in continuous integration, so that one is seen
# before it gets there. The program alone is also built where nobody tests, by other compilers: that
# leaves the directory as it is. WERROR=OFF: nowhere.
WERROR ?= ON
# A build or a test run leaves the machine usable.
NICE := nice

define configure_and_build
	@cmake --preset $(1) $(if $(CI)$(filter-out parley,$(lastword all $(2))),-DPARLEY_WERROR=$(WERROR)) > /dev/null
	@$(NICE) cmake --build --preset $(1) $(2)
endef

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what is missing, with apt
	@tools/setup

.PHONY: build
build: setup ## build the program alone: build/parley
	$(call configure_and_build,release,--target parley)

.PHONY: all
all: setup ## build everything: the program, its tests, the simulator, the benchmarks
	$(call configure_and_build,release)

.PHONY: run
run: build ## build and run the broker; ARGS= for its flags
	@echo "The first message, from another terminal in this directory:"
	@echo "  export PATH=\$$PWD/build:\$$PATH"
	@echo "  parley agent add ana | parley agent keep ana; parley agent add bo | parley agent keep bo"
	@echo "  PARLEY_TOKEN=agent:ana parley send --to bo 'hello'; PARLEY_TOKEN=agent:bo parley inbox"
	@exec build/parley serve $(ARGS)

.PHONY: test
test: setup ## build and run all tests and checks; ONLY=core for one folder of src
	$(call configure_and_build,release,$(if $(ONLY),--target $(ONLY)_test))
	@$(NICE) tools/run-tests build $(if $(ONLY),-L '^$(ONLY)$$')

.PHONY: test-dev
test-dev: setup ## the same, unoptimised, with the library's assertions
	$(call configure_and_build,dev)
	@$(NICE) tools/run-tests build/dev

.PHONY: test-asan
test-asan: setup ## the same, under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call configure_and_build,asan)
	@$(NICE) tools/run-tests build/asan

.PHONY: test-memory
test-memory: setup ## the unit tests and the simulation of the edges alone, under the same two
	$(call configure_and_build,asan,--target unit_tests parley_sim)
	@$(NICE) tools/run-tests build/asan \
	  -R '^(base|lib|core|dialect|journal|net|node|view|edge|app)/|^sim/edges$$'

.PHONY: test-tsan
test-tsan: setup ## the same, under ThreadSanitizer
	$(call configure_and_build,tsan)
	@$(NICE) tools/run-tests build/tsan

.PHONY: sim
sim: setup ## run the simulator: SEEDS=1000 of them, or the one SEED=7
	$(call configure_and_build,release,--target parley_sim)
	@$(NICE) build/parley_sim $(if $(SEED),--seed $(SEED),--seeds 1..$(SEEDS)) $(ARGS)

.PHONY: mutants
mutants: setup ## plant wrong lines and see which the tests notice; ARGS= for tools/mutants
	@$(NICE) tools/mutants $(ARGS)

.PHONY: planted
planted: setup ## put defects back that we had and see that the simulation finds each; ARGS= for names
	@$(NICE) tools/planted $(ARGS)

.PHONY: bench
bench: setup ## run the benchmarks; FILTER=regex for some
	$(call configure_and_build,release,--target parley_bench)
	@build/parley_bench --benchmark_filter='$(FILTER)' $(ARGS)

.PHONY: fuzz
fuzz: ## fuzz each target for TIME=60 seconds; ONLY="http websocket" for some
	@tools/setup fuzz
	$(call configure_and_build,fuzz,--target $(if $(ONLY),$(ONLY:%=%_fuzz),fuzz_programs))
	@$(NICE) tools/fuzz $(TIME) $(ONLY)

.PHONY: tidy
tidy: ## run clang-tidy on src; ONLY=core for one folder
	@tools/setup fuzz
	@cmake --preset tidy > /dev/null
	@$(NICE) tools/tidy $(ONLY)

.PHONY: format
format: ## format the files changed since the last commit
	@tools/setup fuzz
	@tools/format

.PHONY: check
check: setup ## the checks alone: layout, and its own test
	$(call configure_and_build,release,--target core_lib dialect_lib)
	@tools/run-tests build -L '^tools$$'

.PHONY: clean
clean: ## remove all builds
	rm -rf build
