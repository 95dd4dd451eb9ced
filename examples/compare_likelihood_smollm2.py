"""ES on SmolLM2-135M whose members read what the policy wrote, and a control: the tokens, tasks and
measurements of compare_smollm2.py, the rate of compare_likelihood_rates_smollm2.py. Needs a GPU.

proofgym compare examples/compare_likelihood_smollm2.py --dry-run
"""

from compare_smollm2 import comparison

from proofgym import ES, Comparison

SETTINGS = {"objective": "likelihood", "prompts": 32, "samples": 16, "population": 128}
RATE = 2**-7

likelihood = {"algorithm": ES(**SETTINGS, sigma=2**-8, learning_rate=RATE)}

comparison = Comparison(
    name="es-likelihood",
    job=comparison.job,
    variants={"ES, likelihood": likelihood, "permuted": {**likelihood, "control": "permuted"}},
    seeds=comparison.seeds,
    budget=comparison.budget,
    at=comparison.at,
    samples=comparison.samples,
    probes=comparison.probes,
)
