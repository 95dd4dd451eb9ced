"""A process that is told of history entries holds what the run holds, and lays its members."""

import pytest
import torch
from populations import model

from proofgym.algorithms.es import ES
from proofgym.evolution.replica import Members
from proofgym.evolution.state import named
from proofgym.evolution.ways import groups
from proofgym.types import Task


@pytest.mark.parametrize(
    ("kind", "rank"), [("rademacher", 1), ("gaussian8", 1), ("gaussian8", 2), ("gaussian8", None)]
)
@pytest.mark.parametrize("way", ["materialised", "stacked", "factored"])
def test_a_replica_follows_a_run(tmp_path, kind, rank, way):
    if way == "factored" and not rank:
        pytest.skip("needs a rank")
    config = ES(population=4, noise=kind, rank=rank, sigma=2**-5, weight_decay=0.01, evaluation=way)
    ours, theirs = model(), model()
    run = config.build(ours, seed=2, directory=tmp_path, base_digest="base")
    source = run.source(2)
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
    whole = way == "factored"
    members = Members(3, run.state.k, 4, 1 if way == "materialised" else 2, whole)
    for member in range(4):
        weights = members.weights(member)
        assert len(weights.members) == (4 if whole else members.size)
        with replica.lay(weights) as laid:
            if laid is not None:
                laid.select([member])
            found = theirs(ids).logits[0]
        run.state.write_member(member, 3, named(ours, run.state.manifest))
        wanted = ours(ids).logits[0]
        if way == "materialised":
            assert torch.equal(found, wanted)
        assert torch.allclose(found, wanted, atol=1e-5)
    with replica.lay(None):
        run.state.write_current(named(ours, run.state.manifest))
        assert torch.equal(theirs(ids).logits, ours(ids).logits)
    run.close()


def test_groups_hold_every_member_once_and_are_alike_in_size():
    for count, size in ((4, 2), (10, 3), (10, 4), (7, 7), (7, 100), (5, 1)):
        found = groups(count, size)
        assert [member for group in found for member in group] == list(range(count))
        assert max(map(len, found)) <= size
        assert max(map(len, found)) - min(map(len, found)) <= 1
