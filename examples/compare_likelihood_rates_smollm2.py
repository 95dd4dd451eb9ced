"""How the learning rate of compare_likelihood_smollm2.py is chosen: of three, as
compare_rates_smollm2.py does for the other update rules. Needs a GPU.

proofgym compare examples/compare_likelihood_rates_smollm2.py --dry-run
"""

from compare_likelihood_smollm2 import SETTINGS
from compare_rates_smollm2 import comparison

from proofgym import ES, Comparison

comparison = Comparison(
    name="es-likelihood-rates",
    job=comparison.job,
    variants={
        f"2^{power}": {"algorithm": ES(**SETTINGS, sigma=2**-8, learning_rate=2.0**power)}
        for power in (-8, -7, -6)
    },
    seeds=comparison.seeds,
    budget=comparison.budget,
    at=comparison.at,
    samples=comparison.samples,
    probes=comparison.probes,
)
