"""Train SmolLM2-135M to prove Lean 4 theorems with Evolution Strategies. About an hour on a CPU.

proofgym train examples/prove_smollm2.py --set iterations=5
"""

from proofgym import ES, Job, Lean, Local, Model, Sampling
from proofgym.tasks import lean_core

job = Job(
    name="prove-smollm2",
    model=Model("smollm2-135m", adapter="lean_core"),
    tasks=lean_core("train", difficulty=(1, 4)),
    evaluation=lean_core("heldout"),
    reward=Lean(timeout=10),
    algorithm=ES(
        population=32,
        prompts=32,
        sigma=2**-3,
        learning_rate=2**-3,
        parameters=("model.norm.weight",),  # members share a row until their answers part
    ),
    sampling=Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",)),
    cluster=Local(),
    iterations=30,
    seed=0,
)
