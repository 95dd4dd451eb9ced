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
        population=64,
        prompts=96,
        sigma=2**-2,
        learning_rate=0.75,
        parameters=("model.norm.weight",),  # members share a row until their answers part
    ),
    sampling=Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",)),
    cluster=Local(),
    iterations=45,
    seed=0,
)
