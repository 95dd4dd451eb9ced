"""How the learning rates of compare_smollm2.py are chosen: three for each update rule, one seed,
the same number of tokens, by success on the training theorems. Needs a GPU.

proofgym compare examples/compare_rates_smollm2.py --dry-run
"""

from compare_smollm2 import GROUPS, SMALL, comparison

from proofgym import ES, GRPO, Budget, Comparison, LoRA, Supervised

comparison = Comparison(
    name="smollm2-rates",
    job=comparison.job,
    variants={
        **{
            f"ES, {words}, 2^{power}": {
                "algorithm": ES(**{**SMALL, "learning_rate": 2.0**power}, rank=rank)
            }
            for words, rank in (("full rank", None), ("rank 1", 1))
            for power in (-10, -9, -8)
        },
        **{
            f"GRPO, all weights, {rate:g}": {"algorithm": GRPO(**GROUPS, learning_rate=rate)}
            for rate in (2e-6, 5e-6, 2e-5)
        },
        **{
            f"GRPO, LoRA, {rate:g}": {
                "algorithm": GRPO(**GROUPS, learning_rate=rate, lora=LoRA(rank=16))
            }
            for rate in (1e-4, 3e-4, 8e-4)
        },
        **{
            f"supervised, {rate:g}": {"algorithm": Supervised(prompts=32, learning_rate=rate)}
            for rate in (5e-6, 2e-5, 8e-5)
        },
    },
    seeds=(100,),
    budget=Budget(tokens=250_000),
    at=(0, 1),
    samples=1,
    probes={"training": comparison.probes["training"]},
)
