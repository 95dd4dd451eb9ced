"""Train SmolLM2-135M to prove Lean 4 theorems with Evolution Strategies. Runs on a laptop.

proofgym train examples/prove.py --set iterations=5
"""

from proofgym import ES, Job, Lean, Local, Model, Sampling
from proofgym.tasks import lean_core

job = Job(
    name="prove",
    model=Model("smollm2-135m", adapter="lean_core"),
    tasks=lean_core("train", difficulty=(1, 4)),
    evaluation=lean_core("heldout", limit=160),
    reward=Lean(timeout=10),
    algorithm=ES(
        population=16,
        prompts=12,
        sigma=2**-5,
        learning_rate=2**-7,
        rank=1,
        parameters=("model.layers.2[4-9].*",),  # the last six of thirty layers: the rest is shared
    ),
    sampling=Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",)),
    cluster=Local(),
    iterations=10,
    seed=0,
)
