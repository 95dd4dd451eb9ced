"""How success, the norm of the change and forgetting move with population and σ. Needs a GPU.

proofgym sweep examples/sweep_smollm2.py --dry-run
"""

from compare_smollm2 import comparison

from proofgym import Budget, Sweep

sweep = Sweep(
    name="smollm2-scale",
    job=comparison.job,
    grid={
        "algorithm.population": [16, 32, 64],
        # The step stays a quarter of σ.
        "algorithm": {
            f"sigma 2^{power}": comparison.job.algorithm.replace("sigma", 2.0**power).replace(
                "learning_rate", 2.0 ** (power - 2)
            )
            for power in (-8, -7, -6)
        },
    },
    seeds=(0,),
    budget=Budget(tokens=250_000),
    at=(0, 0.5, 1),
    samples=4,
    probes=comparison.probes,
)
