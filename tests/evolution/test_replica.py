"""A process that is told of history entries holds what the run holds, and lays its members."""

import pytest
import torch
from test_factored import model

from proofgym.algorithms.es import ES
from proofgym.evolution.replica import Laid
from proofgym.evolution.state import named
from proofgym.types import Task


@pytest.mark.parametrize(
    ("kind", "rank"), [("rademacher", 1), ("gaussian8", 1), ("gaussian8", 2), ("gaussian8", None)]
)
def test_a_replica_follows_a_run(tmp_path, kind, rank):
    config = ES(population=4, noise=kind, rank=rank, sigma=2**-5, weight_decay=0.01)
    ours, theirs = model(), model()
    run = config.build(ours, seed=2, directory=tmp_path, base_digest="base")
    source = run.source()
    replica = source.opening().open(theirs)
    for iteration in range(3):
        for batch in run.batches([Task("a", "a")]):
            found = {(it.key, it.member): it.member % 3 - iteration for it in batch.requests}
        before = source.version
        run.learn(found)
        assert replica.mark() != source.mark()
        replica.follow(source.news(before))
        assert replica.mark() == source.mark()
    ids = torch.arange(7)[None]
    k = run.state.k
    alone = []
    for member in range(4):
        with replica.lay(Laid(3, k, member)):
            alone.append(theirs(ids).logits[0])
        run.state.write_member(member, 3, named(ours, run.state.manifest))
        assert torch.equal(alone[-1], ours(ids).logits[0])
    if rank:
        with replica.lay(Laid(3, k, None)) as laid:
            laid.select(range(4))
            together = theirs(ids.expand(4, -1)).logits
        assert torch.allclose(together, torch.stack(alone), atol=1e-5)
    with replica.lay(None):
        run.policy()
        run.state.write_current(named(ours, run.state.manifest))
        assert torch.equal(theirs(ids).logits, ours(ids).logits)
    run.close()
