"""Train a small model on countdown: make a number from others. Needs proofgym[reasoning].

proofgym train examples/countdown.py --set iterations=5
proofgym eval smollm2-135m countdown --job examples/countdown.py
"""

from proofgym import ES, Job, Local, Model, Order, Reasoning, Sampling
from proofgym.tasks import countdown

EASY = {"min_numbers": 2, "max_numbers": 3, "min_value": 1, "max_value": 20, "min_target": 5}
CHAT = "<|im_start|>user\n{question}\n{instruction}<|im_end|>\n<|im_start|>assistant\n<answer>"

train = countdown(size=500, seed=0, config={**EASY, "max_target": 60}, prompt=CHAT, answer="whole")

job = Job(
    name="countdown",
    model=Model("smollm2-135m"),
    tasks=train,
    evaluation=countdown(
        size=100,
        seed=1,
        config={**EASY, "max_target": 60},
        prompt=CHAT,
        answer="whole",
        apart_from=train,  # no problem is in both
    ),
    reward=Reasoning(),  # 1 for a right expression, 0 for everything else
    order=Order(by="success"),  # most often the problems that are solved half of the time
    algorithm=ES(
        population=32,
        prompts=32,
        sigma=2**-3,
        learning_rate=2**-3,
        parameters=("model.norm.weight",),
    ),
    sampling=Sampling(max_tokens=32, stop=("</answer>", "\n")),
    cluster=Local(),
    iterations=30,
)
