"""ES and GRPO on SmolLM2-135M, equal tokens, rates as compare_rates_smollm2.py found. Needs a GPU.

proofgym compare examples/compare_smollm2.py --dry-run
"""

from proofgym import (
    ES,
    GRPO,
    Budget,
    Comparison,
    Job,
    Lean,
    Likelihood,
    Local,
    LoRA,
    Model,
    Probe,
    Reasoning,
    Sampling,
    Supervised,
)
from proofgym.tasks import countdown, lean_core

TASKS = lean_core("train", difficulty=(1, 4))
SMALL = {"prompts": 32, "population": 32, "sigma": 2**-7, "learning_rate": 2**-9}
FULL = {"algorithm.rank": None, "algorithm.learning_rate": 2**-8}
GROUPS = {"prompts": 32, "group": 16, "micro_tokens": 8192}
NUMBERS = {"min_numbers": 2, "max_numbers": 2, "max_value": 10, "min_target": 2, "max_target": 20}
OTHER = countdown(size=100, config=NUMBERS)

comparison = Comparison(
    name="smollm2",
    job=Job(
        model=Model("smollm2-135m", adapter="lean_core", dtype="bfloat16"),
        tasks=TASKS,
        evaluation=lean_core("heldout"),
        reward=Lean(timeout=10),
        algorithm=ES(**SMALL),
        sampling=Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",)),
        cluster=Local(max_batch=1024),
    ),
    variants={
        "ES, full rank": FULL,
        "ES, rank 1": {},
        "GRPO, all weights": {"algorithm": GRPO(**GROUPS, learning_rate=2e-5)},
        "GRPO, LoRA": {"algorithm": GRPO(**GROUPS, learning_rate=3e-4, lora=LoRA(rank=16))},
        "supervised": {"algorithm": Supervised(prompts=32, learning_rate=8e-5)},
        "permuted": {**FULL, "control": "permuted"},
    },
    seeds=(0, 1, 2),
    budget=Budget(tokens=500_000),
    at=(0, 0.5, 1),
    samples=4,
    probes={
        "training": Probe(TASKS, Lean(timeout=10), samples=4),
        "countdown": Probe(OTHER, Reasoning(), samples=4),
        "instructions": Likelihood(OTHER),  # sees a loss where success is 0 already
    },
)
