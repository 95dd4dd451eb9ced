"""Train a small model to write Python functions that pass hidden tests in a sandbox.

proofgym train examples/python_functions.py --set iterations=5
"""

from proofgym import ES, Job, Local, Model, Order, Python, Sampling
from proofgym.tasks import python_core

job = Job(
    name="python",
    model=Model("smollm2-135m"),
    tasks=python_core("train", difficulty=(1, 5), prompt="chatml"),
    evaluation=python_core("heldout", prompt="chatml"),
    reward=Python(partial=True, timeout=2),  # the share of a function's tests that pass
    order=Order(by="difficulty", start=0.3, widen=15),
    algorithm=ES(
        population=32,
        prompts=16,
        sigma=2**-3,
        learning_rate=2**-3,
        parameters=("model.norm.weight",),
    ),
    sampling=Sampling(temperature=0.7, max_tokens=96, stop=("\n```\n",)),
    cluster=Local(),
    iterations=30,
)
