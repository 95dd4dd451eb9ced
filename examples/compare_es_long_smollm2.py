"""Evolution Strategies over all weights of SmolLM2-135M in many small steps: half those of
compare_es_smollm2.py, about 500 iterations, with a control. Needs a GPU.

proofgym compare examples/compare_es_long_smollm2.py --jobs 3 --dry-run
"""

from compare_smollm2 import comparison

from proofgym import Budget, Comparison

STEPS = {"algorithm.rank": None, "algorithm.learning_rate": 2**-10}

comparison = Comparison(
    name="es-long",
    job=comparison.job,
    variants={"small steps": STEPS, "permuted": {**STEPS, "control": "permuted"}},
    seeds=(1, 2, 3),
    budget=Budget(tokens=8_200_000),
    at=(0, 0.25, 0.5, 0.75, 1),
    samples=8,
    probes=comparison.probes,
)
