"""Four times the members of compare_likelihood_smollm2.py, at the rate that drifts as far: what a
population buys. Held against that comparison's run of the same seed. Needs a GPU.

proofgym compare examples/compare_likelihood_members_smollm2.py --dry-run
"""

from compare_likelihood_smollm2 import RATE, SETTINGS, comparison

from proofgym import ES, Comparison

MEMBERS = 4 * SETTINGS["population"]
# The random part of a step is as long as before when the rate grows with the root of the members.
members = ES(**{**SETTINGS, "population": MEMBERS}, sigma=2**-8, learning_rate=2 * RATE)

comparison = Comparison(
    name="es-likelihood-members",
    job=comparison.job,
    variants={f"{MEMBERS} members": {"algorithm": members}},
    seeds=(0,),
    budget=comparison.budget,
    at=comparison.at,
    samples=comparison.samples,
    probes=comparison.probes,
)
