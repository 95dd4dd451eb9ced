"""Evolution Strategies over all weights of SmolLM2-135M: full rank and rank 1, each with both exact
noises, and a control. Needs a GPU; benchmarks/histories has runs.

proofgym compare examples/compare_es_smollm2.py --to benchmarks/histories --dry-run
"""

from compare_smollm2 import NUMBERS, comparison

from proofgym import Budget, Comparison, Probe, Reasoning
from proofgym.tasks import countdown

comparison = Comparison(
    name="es-arms",
    job=comparison.job,
    variants={
        "full rank": {"algorithm.rank": None},
        "full rank, gaussian8": {"algorithm.rank": None, "algorithm.noise": "gaussian8"},
        "rank 1": {},
        "rank 1, gaussian8": {"algorithm.noise": "gaussian8"},
        "permuted, full rank": {"algorithm.rank": None, "control": "permuted"},
    },
    seeds=(1, 2, 3),
    budget=Budget(tokens=1_700_000),
    at=(0, 0.5, 1),
    samples=4,
    probes={"countdown": Probe(countdown(size=100, config=NUMBERS), Reasoning(), samples=4)},
)
