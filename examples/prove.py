"""Train SmolLM2-135M to prove Lean 4 theorems with Evolution Strategies. Runs on a laptop.

proofgym train examples/prove.py --set iterations=5
"""

from proofgym import ES, Job, Lean, Local, Model, Sampling
from proofgym.tasks import lean_core

job = Job(
    name="prove",
    model=Model("smollm2-135m", adapter="lean_core"),
    tasks=lean_core("train"),
    evaluation=lean_core("heldout"),
    reward=Lean(timeout=10),
    algorithm=ES(population=16, prompts=8, sigma=2**-9, learning_rate=2**-9, rank=1),
    sampling=Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",)),
    cluster=Local(),
    iterations=20,
    seed=0,
)
