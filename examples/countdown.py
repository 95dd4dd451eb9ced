"""Train a chat model on countdown: make a number from others. Needs the extra `reasoning`, a model
from a hub (SmolLM2-135M solved none of 16 problems with two numbers), and for speed a GPU.

proofgym train examples/countdown.py --set iterations=5
"""

from proofgym import ES, Job, Local, Model, Order, Reasoning, Sampling
from proofgym.tasks import countdown

EASY = {
    "min_numbers": 2,
    "max_numbers": 3,
    "max_value": 20,
    "min_target": 5,
    "max_target": 60,
}
CHAT = "<|im_start|>user\n{question}\n\n{instruction}<|im_end|>\n<|im_start|>assistant\n"

train = countdown(size=500, seed=0, config=EASY, prompt=CHAT)

job = Job(
    name="countdown",
    model=Model("Qwen/Qwen2.5-1.5B-Instruct", dtype="bfloat16"),
    tasks=train,
    # No problem is in both sets.
    evaluation=countdown(size=100, seed=1, config=EASY, prompt=CHAT, apart_from=train),
    reward=Reasoning(),  # 1 for a right expression, 0 for everything else
    order=Order(by="success"),  # most often the problems that are solved half of the time
    algorithm=ES(population=32, prompts=32, sigma=2**-9, learning_rate=2**-10),
    sampling=Sampling(max_tokens=256, stop=("</answer>",)),
    cluster=Local(),
    iterations=30,
)
