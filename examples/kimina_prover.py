"""Train Kimina-Prover-Preview-Distill-1.5B on lean_workbook, measured on miniF2F. Needs a GPU, the
model from a hub, a Lake project with Mathlib, and two JSONL files (docs/tasks.md says which).

proofgym train examples/kimina_prover.py --set reward.toolchain=path/to/lake/project --dry-run
"""

from proofgym import ES, Job, Lean, Local, Model, Order, Sampling
from proofgym.tasks import lean_jsonl

HEADER = "import Mathlib\nimport Aesop\n\nset_option maxHeartbeats 400000\n\nopen BigOperators Real Nat Topology Rat"  # noqa: E501

job = Job(
    name="kimina",
    model=Model("AI-MO/Kimina-Prover-Preview-Distill-1.5B", dtype="bfloat16"),
    tasks=lean_jsonl(
        "stp_lean_sft.jsonl",
        containing="lean_workbook",
        prompt_format="kimina",
        header=HEADER,  # one for all: one Lean with Mathlib in memory serves every proof
        limit=2000,
    ),
    evaluation=lean_jsonl("minif2f.jsonl", split="test", prompt_format="kimina", header=HEADER),
    reward=Lean(toolchain="lake-project", header=HEADER, timeout=60, memory_mb=8192),
    order=Order(by="success", skip="both"),  # most of lean_workbook is too easy or too hard
    algorithm=ES(population=32, prompts=32, sigma=2**-10, learning_rate=2**-11),
    sampling=Sampling(temperature=0.6, top_p=0.95, max_tokens=8096),
    cluster=Local(device="cuda"),
    iterations=50,
)
