"""General commands: files in and out, status, output as it comes, snapshots, clean ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofgym.errors import SandboxError
from proofgym.sandboxes import Limits, Sandbox, Workspace
from proofgym.sandboxes.bubblewrap import Bubblewrap
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.cgroups import own_cgroups
from proofgym.sandboxes.inside.tree import Entry, is_plain, read_tree, write_tree
from proofgym.sandboxes.limits import MIB
from proofgym.sandboxes.limits_only import LimitsOnly
from proofgym.sandboxes.namespaces import Namespaces
from proofgym.sandboxes.pool_settings import PoolSettings
from proofgym.sandboxes.prepared import command_pool

SHORT = Limits(wall_s=10, cpu_s=5, memory_bytes=256 * MIB, processes=32, scratch_bytes=8 * MIB)


def _working() -> list[Sandbox]:
    candidates: list[Sandbox] = [Bubblewrap(), Namespaces(), LimitsOnly()]
    return [item for item in candidates if item.run(["/bin/sh", "-c", ":"]).ended_by == "exit"]


@pytest.fixture(params=_working(), ids=lambda item: item.name)
def work(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # only ours are counted
    monkeypatch.setattr(tempfile, "tempdir", None)
    with Workspace(request.param, SHORT) as made:
        yield made


def shell(work: Workspace, script: str, **more):
    return work.run(["sh", "-c", script], **more)


def traces(mark: str, owner: int | None = None) -> dict[str, int]:
    """What could be left behind: processes with this mark, mounts, control groups, files."""
    alive = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                alive += mark.encode() in (entry / "cmdline").read_bytes()
            except OSError:
                continue
    places = [place for place, _, _ in os.walk("/sys/fs/cgroup")]
    return {
        "processes": alive,
        "mounts": sum(map(is_ours, Path("/proc/self/mountinfo").read_text().splitlines())),
        "groups": sum(f"/proofgym-{owner or os.getpid()}-" in place for place in places),
        "files": len(list(Path(tempfile.gettempdir()).glob("proofgym-*"))),
        "descriptors": len(os.listdir("/proc/self/fd")),
    }


def is_ours(mount: str) -> bool:
    """Whether a line of mountinfo is of a kind that sandboxes make: others may mount meanwhile."""
    point = mount.split()[4]
    made = ("scratch", "new", "old", "newroot", "oldroot")
    return point.split("/")[1] in made or point == "/tmp" or "proofgym" in mount


def test_files_status_and_streams(work: Workspace) -> None:
    heard: list[tuple[str, bytes]] = []
    work.put("in/text", b"one\n")
    work.put("tool", b"#!/bin/sh\ncat in/text; echo bad >&2; echo $WORD > made; exit 3\n", True)
    outcome = work.run(
        ["./tool"], env={"WORD": "w"}, on_output=lambda name, data: heard.append((name, data))
    )
    assert (outcome.ended_by, outcome.status) == ("exit", 3)
    assert (outcome.stdout, outcome.stderr) == (b"one\n", b"bad\n")
    assert sorted(heard) == [("stderr", b"bad\n"), ("stdout", b"one\n")]
    assert work.names() == ["in/text", "made", "tool"]
    assert work.get("made") == b"w\n"
    with pytest.raises(SandboxError, match="did you mean 'made'"):
        work.get("mad")


def test_output_comes_while_the_program_runs(work: Workspace) -> None:
    times: list[float] = []
    shell(work, "echo a; sleep 0.6; echo b", on_output=lambda *_: times.append(time.monotonic()))
    assert times[1] - times[0] > 0.4


def test_links_modes_and_empty_folders_stay(work: Workspace) -> None:
    shell(work, "mkdir -p a/b; echo x > f; ln -s f l; ln -s /etc/shadow s; chmod 000 f; mkfifo p")
    outcome = shell(work, "test -d a/b && test -L s && ls -l f | cut -c1-10; test -e p || echo no")
    assert outcome.stdout == b"----------\nno\n"
    assert work.names() == ["f"]
    assert work.get("f") == b"x\n"


def test_snapshots_branch_and_restore(work: Workspace) -> None:
    shell(work, "echo 1 > n")
    before = work.snapshot()
    other = work.branch()
    shell(work, "echo 2 > n; echo new > m")
    shell(other, "echo 3 >> n")
    assert (work.get("n"), other.get("n")) == (b"2\n", b"1\n3\n")
    assert other.names() == ["n"]
    after = work.snapshot()
    work.restore(before)
    assert (work.get("n"), work.names()) == (b"1\n", ["n"])
    assert before.digest() == work.snapshot().digest() != after.digest()
    assert shell(work, "cat n").stdout == b"1\n"


def test_no_process_of_one_command_reaches_the_next(work: Workspace) -> None:
    shell(work, "(setsid sh -c 'sleep 0.3; echo bad > f' >/dev/null 2>&1 &)")
    outcome = shell(work, "sleep 0.6; ls")
    assert outcome.stdout == b""


def test_a_program_that_does_not_exist_is_its_own_fault(work: Workspace) -> None:
    outcome = work.run(["./nothing"])
    assert (outcome.ended_by, outcome.status) == ("exit", 127)
    assert b"nothing" in outcome.stderr


@pytest.mark.parametrize(
    "argv", [[""], ["sh", "-c", "echo a\0b"], ["echo", "\ud800"], ["echo", "x" * 200_000]]
)
def test_words_that_no_program_can_get_are_the_commands_fault(
    work: Workspace, argv: list[str]
) -> None:
    outcome = work.run(argv)
    assert (outcome.ended_by, outcome.status) == ("exit", 127)


def test_a_line_in_the_place_of_words_is_refused(work: Workspace) -> None:
    with pytest.raises(SandboxError, match="must be a list of words"):
        work.run("echo hi")
    for argv in (None, [], (), [1], ["echo", None], {"echo"}, 3, b"echo"):
        with pytest.raises(SandboxError, match=r"^argv (=|holds) .*: must be "):
            work.run(argv)
    for env in (["A=1"], {"A": 1}, {1: "a"}):
        with pytest.raises(SandboxError, match=r"^env.*: must be "):
            work.run(["true"], env=env)
    with pytest.raises(SandboxError, match=r"^cancel = 3: must be a `Cancel\(\)`"):
        work.run(["true"], cancel=3)
    with pytest.raises(SandboxError, match="stdin is str: must be bytes"):
        work.run(["cat"], stdin="text")
    with pytest.raises(SandboxError, match="must be bytes"):
        work.put("a", "text")


def test_timeout_keeps_the_files_as_they_were(work: Workspace) -> None:
    work.put("kept", b"k")
    work._limits = Limits(wall_s=0.5)
    outcome = shell(work, "rm kept; trap '' TERM; sleep 30")
    assert outcome.ended_by == "wall"
    assert outcome.wall_s < 5
    assert work.get("kept") == b"k"


def test_ending_the_agent_costs_only_the_files(work: Workspace) -> None:
    work.put("kept", b"k")
    outcome = shell(work, "rm kept; kill -9 $PPID; sleep 5")
    assert outcome.ended_by in ("signal", "exit")
    assert outcome.status != 0
    assert work.get("kept") == b"k"
    assert shell(work, "echo ok").stdout == b"ok\n"


def test_more_files_than_allowed_never_come_out(work: Workspace) -> None:
    outcome = shell(work, "for i in 1 2 3; do truncate -s 4M f$i; done")  # sparse: costs no memory
    assert outcome.ended_by == "output"
    assert work.names() == []
    outcome = shell(work, "head -c 20000000 /dev/zero > big")
    assert outcome.status != 0


def test_cancellation_ends_the_tree_at_once(work: Workspace) -> None:
    mark = f"63{os.getpid()}"
    before = traces(mark)
    cancel = Cancel()
    threading.Timer(0.5, cancel.cancel).start()
    outcome = shell(work, f"(setsid sleep {mark} &); sleep {mark}", cancel=cancel)
    assert outcome.ended_by == "cancelled"
    assert outcome.wall_s < 5
    assert traces(mark) == before
    assert shell(work, "echo x", cancel=cancel).ended_by == "cancelled"


def test_closing_from_another_thread_ends_the_command(work: Workspace) -> None:
    threading.Timer(0.3, work.close).start()
    assert shell(work, "sleep 30").wall_s < 5
    with pytest.raises(SandboxError, match="closed"):
        shell(work, "echo")


def test_nothing_is_left_behind_whatever_happens(work: Workspace) -> None:
    mark = f"64{os.getpid()}"
    work._limits = Limits(wall_s=0.4, memory_bytes=64 * MIB, output_bytes=10_000, processes=16)
    shell(work, ":")
    before = traces(mark)
    shell(work, f"(setsid sleep {mark} &); exit 1")
    shell(work, f"sleep {mark} & sleep {mark}")
    shell(work, f"yes {mark}")
    shell(work, f"for i in 1 2 3; do (setsid sleep {mark} &); done; kill -9 $PPID")
    shell(work, f"head -c 500000000 /dev/zero | tail | sleep {mark}")
    work.run(["./nothing"])
    assert traces(mark) == before


def test_the_orchestrators_death_leaves_nothing(work: Workspace) -> None:
    mark = f"65{os.getpid()}"
    before = traces(mark)
    script = f"""
    from proofgym.sandboxes import Workspace
    from proofgym.sandboxes.{work._sandbox.name} import {type(work._sandbox).__name__} as It
    Workspace(It()).run(["sh", "-c", "echo > f; (setsid sleep {mark} &); sleep {mark}"])
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)]) as orchestrator:
        _until(lambda: traces(f"sleep\0{mark}")["processes"] == 2)
        assert traces(mark, orchestrator.pid)["groups"] > 0 or not own_cgroups().covers
        orchestrator.kill()
    _until(lambda: traces(mark) == before)
    _until(lambda: traces(mark, orchestrator.pid)["groups"] == 0)


@pytest.mark.parametrize("moment", ["while it starts", "before it starts"])
def test_no_scratch_folder_outlives_an_orchestrator(tmp_path: Path, moment: str) -> None:
    """It dies just after starting the launcher, or just before, where a later run cleans up."""
    call = "made(*a, **k)" if moment == "while it starts" else "None"
    script = f"""
    import os, subprocess
    from proofgym.sandboxes.cgroups import own_cgroups
    from proofgym.sandboxes.limits_only import LimitsOnly
    own_cgroups()
    made = subprocess.Popen
    subprocess.Popen = lambda *a, **k: ({call}, os._exit(9))
    LimitsOnly().run(["/bin/sh", "-c", ":"])
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    assert subprocess.run(command, env=environment).returncode == 9
    if moment == "before it starts":
        (left,) = tmp_path.iterdir()
        os.utime(left, (0, 0))
        subprocess.run([*command[:2], _ONE_RUN], env=environment, check=True)
    _until(lambda: not list(tmp_path.iterdir()))


_ONE_RUN = "from proofgym.sandboxes.limits_only import *; LimitsOnly().run(['/bin/true'])"


def test_prepared_sandboxes_are_used_once_and_their_pool_ends_clean(work: Workspace) -> None:
    mark = f"66{os.getpid()}"
    before = traces(mark)
    pool = command_pool(work._sandbox, SHORT, settings=PoolSettings(smallest=2, largest=4))
    pool.prepare()
    pooled = Workspace(work._sandbox, SHORT, pool=pool)
    seen = [shell(pooled, f"ls; echo {n} > f{n}").stdout.decode().split() for n in range(4)]
    assert seen == [[], ["f0"], ["f0", "f1"], ["f0", "f1", "f2"]]
    counted = pool.metrics()
    assert counted["jobs"] == 4
    assert counted["started"] >= 4
    pool.close()
    _until(lambda: traces(mark) == before)


def _until(condition, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


NAMES = st.text(min_size=1, max_size=8).filter(lambda it: is_plain(it) and "/" not in it)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(NAMES, st.binary(max_size=50)))
def test_a_tree_survives_the_way_in_and_out(files: dict[str, bytes]) -> None:
    tree = {name: Entry("file", 0o644, data) for name, data in files.items()}
    assert read_tree(write_tree(tree)) == tree


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_hostile_bytes_are_no_tree(data: bytes) -> None:
    for junk in (data, b"tree1\n" + len(data).to_bytes(8, "little") + data):
        try:
            tree = read_tree(junk)
        except (ValueError, TypeError):
            continue
        assert all(is_plain(name) for name in tree)


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/../../x", "a//b", "./x", "", "a\0b", "..", "\ud800"]
)
def test_names_that_lead_out_are_refused(name: str) -> None:
    assert not is_plain(name)
    with pytest.raises(ValueError, match="no tree"):
        read_tree(write_tree({name: Entry("file", 0o644, b"")}))
    with pytest.raises(SandboxError, match="plain relative name"):
        Workspace(LimitsOnly()).put(name, b"")


def test_what_a_listener_raises_is_raised(work: Workspace) -> None:
    """In the thread of the caller, and the command is ended."""

    def listen(name: str, data: bytes) -> None:
        raise ValueError("a fault of the caller's")

    began = time.monotonic()
    with pytest.raises(ValueError, match="a fault of the caller's"):
        shell(work, "echo a; sleep 20", on_output=listen)
    assert time.monotonic() - began < 10
    assert shell(work, "echo b").stdout == b"b\n"


def test_wrong_parts_are_named(work: Workspace) -> None:
    for call, words in (
        (lambda: Workspace("namespaces"), "choose_sandbox"),
        (lambda: Workspace(work._sandbox, 3), r"must be a `Limits"),
        (lambda: work.restore(3), "snapshot = 3"),
    ):
        with pytest.raises(SandboxError, match=words):
            call()
