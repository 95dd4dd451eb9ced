"""Train a small model to prove Lean 4 theorems with Evolution Strategies. Minutes on a laptop.

proofgym train examples/prove.py --set iterations=5
"""

from proofgym import ES, Job, Lean, Local, Model, Sampling
from proofgym.tasks import lean_core

job = Job(
    name="prove",
    model=Model("lean-tiny"),
    tasks=lean_core("train", difficulty=(1, 4)),
    evaluation=lean_core("heldout"),
    reward=Lean(timeout=10),
    algorithm=ES(
        objective="likelihood",  # members read what the policy wrote
        population=64,
        prompts=96,
        samples=16,
        sigma=2**-4,
        learning_rate=4,
        parameters=("model.norm.weight",),  # so all below is computed once for all members
    ),
    sampling=Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",)),
    cluster=Local(),
    iterations=20,
    seed=0,
)
