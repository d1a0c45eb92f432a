# Everything a fresh machine with python3, git and make needs.
PYTHON ?= python3
NPM ?= npm
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := build/host-tools
LAMBDA := build/lambda

.PHONY: demo test check bench clean wheel skill mcpb lambda packages host-tools answer-scores

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable .
	touch $(STAMP)

demo: $(STAMP)
	@$(BIN)/gpuvet demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/python -m pytest tests/architecture

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks

# What is given away. `packages` makes all and asks each host's own validator about it.
packages: skill mcpb lambda host-tools
	$(BIN)/python -m pytest tests/hosts

wheel: $(STAMP)
	rm -f dist/gpuvet-*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

skill: $(STAMP)
	mkdir -p dist
	$(BIN)/gpuvet skill export --zip dist/gpuvet-skill.zip

mcpb: $(STAMP)
	$(BIN)/python -m gpuvet.hosts.desktop dist/gpuvet.mcpb

lambda: wheel
	rm -rf $(LAMBDA)
	$(BIN)/python -m pip install --quiet --target $(LAMBDA) --platform manylinux2014_x86_64 \
	  --implementation cp --python-version 3.12 --only-binary=:all: --no-compile \
	  --constraint constraints.txt dist/gpuvet-*.whl
	cp server/packaging/lambda/run.sh $(LAMBDA)/

# The validators of the hosts, from npm; tests that need them skip, counted, where they are not.
host-tools: $(TOOLS)/.installed

$(TOOLS)/.installed: .ci/host-tools.json
	mkdir -p $(TOOLS)
	cp .ci/host-tools.json $(TOOLS)/package.json
	$(NPM) install --prefix $(TOOLS) --no-audit --no-fund --no-package-lock --loglevel=error
	touch $@

answer-scores: $(STAMP)
	@PYTHONPATH=tests $(BIN)/python -m answer_scores

clean:
	rm -rf $(VENV) dist build
