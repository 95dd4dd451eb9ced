"""Train a small model to prove Lean 4 theorems with GRPO. Minutes on a laptop.

proofgym train examples/prove_grpo.py --set iterations=5
proofgym demo examples/prove_grpo.py --samples 4
"""

from proofgym import GRPO, Job, Lean, Local, Model, Sampling
from proofgym.tasks import lean_core

job = Job(
    name="prove-grpo",
    model=Model("lean-tiny"),
    tasks=lean_core("train", difficulty=(1, 4)),
    evaluation=lean_core("heldout"),
    reward=Lean(timeout=10),
    algorithm=GRPO(prompts=64, group=16, learning_rate=1e-4),
    sampling=Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",)),
    cluster=Local(),
    iterations=25,
    seed=0,
)
