"""Train a small model to prove Lean theorems over several turns: it sees what Lean says of its
proof and may try again. A later success counts less.

proofgym train examples/lean_feedback.py --set iterations=5
"""

from proofgym import ES, Episodes, Job, Lean, Local, Model, Sampling, lean_feedback
from proofgym.tasks import lean_core

job = Job(
    name="feedback",
    model=Model("lean-tiny"),
    tasks=lean_core("train", difficulty=(1, 4)),
    evaluation=lean_core("heldout"),
    environment=Episodes(
        lean_feedback(tries=3, later=0.5),
        lean=Lean(timeout=10),
        max_turns=3,
        max_tokens=600,
    ),
    algorithm=ES(
        population=32,
        prompts=32,
        sigma=2**-2,
        learning_rate=0.75,
        parameters=("model.norm.weight",),
    ),
    sampling=Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",)),
    cluster=Local(),
    iterations=30,
)
