"""Every backend against hostile programs: real processes, real limits, nothing left behind."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import pytest

from proofgym.errors import ConfigError, SandboxError
from proofgym.sandboxes import choose
from proofgym.sandboxes.bubblewrap import Bubblewrap
from proofgym.sandboxes.cgroups import Cgroups, own_cgroups
from proofgym.sandboxes.choose import choose_sandbox
from proofgym.sandboxes.limits import MIB, Limits
from proofgym.sandboxes.limits_only import LimitsOnly
from proofgym.sandboxes.namespaces import Namespaces
from proofgym.sandboxes.pool_settings import PoolSettings
from proofgym.sandboxes.sandbox import PROTECTIONS, Outcome, Sandbox

SHELL = "/bin/sh"
PYTHON = os.path.realpath(sys.executable)
SHORT = Limits(wall_s=10, cpu_s=5, memory_bytes=256 * MIB, processes=32)


def _working() -> list[Sandbox]:
    candidates: list[Sandbox] = [Bubblewrap(), Namespaces(), LimitsOnly()]
    return [item for item in candidates if item.run([SHELL, "-c", ":"]).ended_by == "exit"]


@pytest.fixture(params=_working(), ids=lambda item: item.name)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return request.param


def shell(sandbox: Sandbox, script: str, limits: Limits = SHORT, **more) -> Outcome:
    return sandbox.run([SHELL, "-c", script], limits=limits, **more)


def python(sandbox: Sandbox, script: str, limits: Limits = SHORT, **more) -> Outcome:
    argv = [PYTHON, "-I", "-S", "-c", textwrap.dedent(script)]
    return sandbox.run(argv, limits=limits, read_only=[Path(sys.base_prefix)], **more)


def test_a_place_for_files_that_is_ours_alone(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root hands programs to another user, who gets nowhere below such a folder."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    outcome = shell(sandbox, "cat given && echo more > made && cat made", files={"given": b"one\n"})
    assert (outcome.ended_by, outcome.status, outcome.stdout) == ("exit", 0, b"one\nmore\n")


def alive(mark: str) -> int:
    """Processes on this machine whose command line holds `mark`."""
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found += mark.encode() in (entry / "cmdline").read_bytes()
            except OSError:
                continue
    return found


def test_files_environment_input_and_status(sandbox: Sandbox) -> None:
    outcome = shell(
        sandbox,
        'cat a/note; cat; echo "$WORD"; echo bad >&2; exit 3',
        files={"a/note": b"one\n"},
        env={"WORD": "three"},
        stdin=b"two\n",
    )
    assert (outcome.ended_by, outcome.status) == ("exit", 3)
    assert outcome.stdout == b"one\ntwo\nthree\n"
    assert outcome.stderr == b"bad\n"


def test_no_environment_of_ours(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "s3cr3t")
    script = "env; tr '\\0' '\\n' < /proc/self/environ; cat /proc/*/environ"
    outcome = shell(sandbox, script)
    assert b"PATH=" in outcome.stdout
    assert b"s3cr3t" not in outcome.stdout + outcome.stderr


def test_no_descriptor_of_ours_is_inherited(sandbox: Sandbox) -> None:
    script = 'for i in 3 4 5 6 7 8 9; do (eval "true >&$i") 2>/dev/null && echo $i; done'
    assert shell(sandbox, script).stdout == b""


def test_a_service_talks_and_ends(sandbox: Sandbox) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(10)
    number = theirs.fileno()
    script = f"import os\nif os.fork() == 0: os.setsid()\nos.write({number}, os.read({number}, 5))"
    script += "\nwhile True: os.read(0, 1) or __import__('time').sleep(1)"
    mark = f"service-{os.getpid()}-{sandbox.name}"
    service = sandbox.serve(
        [PYTHON, "-I", "-S", "-c", script, mark],
        channel=number,
        read_only=[Path(sys.base_prefix)],
        limits=SHORT,
    )
    with ours, theirs:
        ours.sendall(b"hello")
        assert ours.recv(5) == b"hello"
        assert service.alive
        service.close()
    assert not service.alive
    assert alive(mark) == 0


def test_signal_is_told_from_exit(sandbox: Sandbox) -> None:
    outcome = shell(sandbox, "kill -SEGV $$")
    assert (outcome.ended_by, outcome.signal) == ("signal", signal.SIGSEGV)


def test_endless_loop_ends_at_the_deadline(sandbox: Sandbox) -> None:
    outcome = shell(sandbox, "trap '' TERM INT; sleep 60", Limits(wall_s=0.5))
    assert outcome.ended_by == "wall"
    assert outcome.wall_s < 5


def test_processor_time(sandbox: Sandbox) -> None:
    outcome = shell(sandbox, "while :; do :; done", Limits(wall_s=20, cpu_s=1))
    assert outcome.ended_by == "cpu"
    assert outcome.cpu_s > 0.4


def test_memory(sandbox: Sandbox) -> None:
    script = "held = []\nwhile True: held.append(bytearray(b'x' * 2**22))"
    outcome = python(sandbox, script, Limits(wall_s=20, memory_bytes=128 * MIB))
    if "memory" in sandbox.protections:
        assert outcome.ended_by == "memory"
        assert outcome.peak_memory_bytes > 64 * MIB
    else:
        assert outcome.ended_by in ("memory", "exit")


def test_output_flood_neither_stalls_nor_fills_memory(sandbox: Sandbox) -> None:
    outcome = shell(sandbox, "yes >&2", Limits(wall_s=20, output_bytes=100_000))
    assert outcome.ended_by == "output"
    assert len(outcome.stderr) <= 100_000
    assert outcome.wall_s < 10


def test_output_of_several_pipes_full_is_whole(sandbox: Sandbox) -> None:
    outcome = shell(sandbox, "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2")
    assert (len(outcome.stdout), len(outcome.stderr)) == (1_000_000, 1_000_000)


def test_fork_bomb_with_daemons_leaves_nothing(sandbox: Sandbox) -> None:
    mark = f"bomb-{os.getpid()}-{sandbox.name}"
    script = f"""
    import os, signal, sys, time
    mark = {mark!r}
    for number in range(1, 64):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    while True:
        try:
            if os.fork() == 0: os.setsid()
        except OSError: pass
    """
    outcome = python(sandbox, script, Limits(wall_s=1.0, processes=24))
    assert outcome.ended_by in ("wall", "cpu")
    assert alive(mark) == 0


def test_daemons_end_with_the_program(sandbox: Sandbox) -> None:
    mark = f"61{os.getpid()}"
    outcome = shell(sandbox, f"(setsid sleep {mark} &) ; (setsid sleep {mark} >/dev/null 2>&1 &)")
    assert outcome.ended_by == "exit"
    assert outcome.wall_s < 5
    assert alive(mark) == 0


def test_number_of_processes(sandbox: Sandbox) -> None:
    if "pids" not in sandbox.protections:
        pytest.skip("no pids controller")
    script = """
    import os, time
    made = 0
    try:
        for _ in range(200):
            if os.fork() == 0: time.sleep(30)
            made += 1
    except OSError: pass
    print(made)
    """
    outcome = python(sandbox, script, Limits(wall_s=20, processes=16))
    assert int(outcome.stdout) < 16


def test_no_network(sandbox: Sandbox) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        script = (
            f"import _socket as s; s.socket().connect(('127.0.0.1', {server.getsockname()[1]}))"
        )
        outcome = python(sandbox, script)
    assert outcome.status == 1
    assert b"Error" in outcome.stderr


def test_files_of_the_machine_are_out_of_reach(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cr3t")
    script = f"cat {secret}; cat /etc/shadow; cat /proc/1/environ; echo x > {secret}; touch /usr/x"
    outcome = shell(sandbox, script)
    assert outcome.stdout == b""
    assert secret.read_text() == "s3cr3t"
    assert not Path("/usr/x").exists()


def test_only_the_scratch_folder_is_writable_and_it_is_bounded(sandbox: Sandbox) -> None:
    script = (
        "for p in / /usr /dev /dev/shm /tmp /proc/sys/kernel /etc; do touch $p/x && echo $p; done"
    )
    assert shell(sandbox, script).stdout == b""
    outcome = shell(sandbox, "cat /dev/zero > z", Limits(wall_s=20, scratch_bytes=1 * MIB))
    assert outcome.ended_by in ("exit", "signal")
    assert outcome.status != 0


def test_no_privileges(sandbox: Sandbox) -> None:
    script = "unshare -Ur true || mount -t tmpfs x . || echo refused"
    assert b"refused" in shell(sandbox, script).stdout


def test_processes_outside_cannot_be_signalled(sandbox: Sandbox) -> None:
    if "processes_hidden" not in sandbox.protections:
        pytest.skip("not claimed")
    with subprocess.Popen(["/bin/sleep", "30"]) as victim:
        shell(sandbox, f"kill -9 {victim.pid}; kill -9 -1")
        time.sleep(0.05)
        assert victim.poll() is None
        victim.kill()


def test_a_missing_program_is_our_fault(sandbox: Sandbox) -> None:
    outcome = sandbox.run(["/no/such/program"])
    assert outcome.ended_by == "infrastructure"
    assert "/no/such/program" in outcome.reason


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"argv": []}, "argv = []: must be a list of words"),
        ({"argv": None}, "argv = None: must be a list of words"),
        ({"argv": "/bin/echo hi"}, "argv = '/bin/echo hi': must be a list of words"),
        ({"argv": ["/bin/echo", "a\0b"]}, r"argv holds 'a\x00b'"),
        ({"argv": ["/bin/echo", "\ud800"]}, r"argv holds '\ud800'"),
        ({"argv": ["/bin/echo", 3]}, "argv holds 3"),
        ({"env": {"A": "b\0"}}, "env['A'] = "),
        ({"env": {"A": 1}}, "env['A'] = 1"),
        ({"env": ["A=1"]}, "env = ['A=1']: must be a mapping"),
        ({"files": ["a"]}, "files = ['a']: must be a mapping"),
        ({"cancel": 3}, "cancel = 3: must be a `Cancel()`"),
        ({"env": {"A=B": ""}}, "env has a variable 'A=B'"),
        ({"env": {"": ""}}, "env has a variable ''"),
        ({"files": {"a\0b": b""}}, "is no plain relative name"),
        ({"files": {"a/../../b": b""}}, "is no plain relative name"),
        ({"files": {"\ud800": b""}}, "is no plain relative name"),
        ({"files": {"a" * 300: b""}}, "over 255 bytes"),
        ({"files": {"a": b"", "a/b": b""}}, "'a' cannot be a file and hold 'a/b'"),
        ({"files": {"a": "text"}}, "files['a'] is str: must be bytes"),
        ({"stdin": "text"}, "stdin is str: must be bytes"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_nothing(
    sandbox: Sandbox, asked: dict, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SandboxError) as caught:
        sandbox.run(**{"argv": ["/bin/true"], **asked})
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_scratch_folder_that_cannot_be_filled_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    deep = "/".join(["a" * 200] * 30)  # each part is right, the whole is too long
    outcome = LimitsOnly().run(["/bin/true"], files={deep: b""})
    assert outcome.ended_by == "infrastructure"
    assert "too long" in outcome.reason
    assert list(tmp_path.iterdir()) == []


def test_a_launcher_that_fails_early_says_why() -> None:
    outcome = Namespaces().run(["/bin/true"], files={"/".join(["a" * 200] * 30): b""})
    assert outcome.ended_by == "infrastructure"
    assert "No such process" not in outcome.reason
    assert "aaaa" in outcome.reason, "the launcher's own words, which end with the path"


def test_many_threads_at_once(sandbox: Sandbox) -> None:
    def one(number: int) -> bool:
        outcome = shell(sandbox, "cat word", files={"word": b"%d" % number})
        return outcome.stdout == b"%d" % number

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(24)))


def test_no_descriptors_leak(sandbox: Sandbox) -> None:
    shell(sandbox, ":")
    before = len(os.listdir("/proc/self/fd"))
    shell(sandbox, "ls -l /proc/self/fd")
    shell(sandbox, "sleep 9", Limits(wall_s=0.1))
    sandbox.run(["/no/such/program"])
    assert len(os.listdir("/proc/self/fd")) == before


def test_killing_the_orchestrator_leaves_nothing(sandbox: Sandbox) -> None:
    mark = f"62{os.getpid()}"
    script = f"""
    from proofgym.sandboxes.{sandbox.name} import *
    from proofgym.sandboxes.limits import Limits
    made = {type(sandbox).__name__}()
    made.run(["/bin/sh", "-c", "(setsid sleep {mark} &); sleep {mark}"], limits=Limits(wall_s=60))
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)]) as orchestrator:
        _until(lambda: alive(f"sleep\0{mark}") == 2)
        orchestrator.kill()
    _until(lambda: alive(mark) == 0)
    _until(lambda: not _groups_of(orchestrator.pid))


def test_groups_of_the_dead_are_removed() -> None:
    if not own_cgroups().covers:
        pytest.skip("no cgroups here")
    parent = next(iter(own_cgroups()._bases.values())).parent
    left = parent / "proofgym-4194999-abcdef"  # above any process id
    (left / "run-0").mkdir(parents=True)
    Cgroups().close()
    assert not left.exists()


def _groups_of(pid: int) -> list[str]:
    walk = os.walk("/sys/fs/cgroup")  # unlike rglob, bears folders that vanish
    return [name for _, names, _ in walk for name in names if name.startswith(f"proofgym-{pid}-")]


def _until(condition, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_broken_launcher_is_our_fault(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no permissions' >&2; exit 1\n")
    broken.chmod(0o755)
    outcome = Bubblewrap(str(broken)).run([SHELL, "-c", ":"])
    assert outcome.ended_by == "infrastructure"
    assert "no permissions" in outcome.reason


def test_choice_without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(choose, "_working", None)
    chosen = choose_sandbox()
    assert chosen.name in ("namespaces", "limits_only")
    assert chosen.run([SHELL, "-c", "echo hi"]).stdout == b"hi\n"


def test_choice_warns_of_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "_working", [LimitsOnly()])
    monkeypatch.setattr(choose, "_warned", set())
    with pytest.warns(choose.SandboxWarning, match="scratch"):
        choose_sandbox()


def test_choice_refuses_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "_working", [LimitsOnly()])
    with pytest.raises(SandboxError, match="scratch"):
        choose_sandbox({"scratch"})
    with pytest.raises(SandboxError, match="did you mean 'network'"):
        choose_sandbox({"netwrk"})
    with pytest.raises(SandboxError, match=r"'network' is no list of protections.*\('network',\)"):
        choose_sandbox("network")
    for wrong in (None, 3, [3], ["network", None]):
        with pytest.raises(SandboxError, match=r"no list of protections|no such protection"):
            choose_sandbox(wrong)


def test_what_else_there_is_is_said_where_the_asked_for_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choose, "_working", [LimitsOnly()])
    monkeypatch.setattr(choose, "_refusals", {"bubblewrap": "bwrap is not installed"})
    with pytest.raises(SandboxError) as caught:
        choose_sandbox(name="bubblewrap")
    assert "bubblewrap: bwrap is not installed\navailable here:\n  limits_only (" in str(
        caught.value
    )
    with pytest.raises(SandboxError, match="no other that works here gives with scratch either"):
        choose_sandbox({"scratch"}, "bubblewrap")


def test_protections_are_known_words() -> None:
    for sandbox in (Bubblewrap(), Namespaces(), LimitsOnly()):
        assert sandbox.protections <= set(PROTECTIONS)
        assert sandbox.missing == set(PROTECTIONS) - sandbox.protections


@pytest.mark.parametrize("name", [it.name for it in fields(Limits)])
@pytest.mark.parametrize(
    "value", [0, -1, -0.5, float("nan"), float("inf"), "10", None, True, b"1", [1], 1j, 10**30]
)
def test_a_wrong_limit_names_field_value_and_what_is_allowed(name: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        Limits(**{name: value})
    message = str(caught.value)
    assert message.startswith(f"Limits.{name} = {value!r}: must be a ")
    assert "above 0" in message


def test_limits_that_count_are_whole() -> None:
    assert Limits(wall_s=1, cpu_s=0.25).wall_s == 1
    for name in ("memory_bytes", "processes", "output_bytes", "scratch_bytes"):
        with pytest.raises(ConfigError, match=f"Limits.{name} = 1.5: must be a whole number"):
            Limits(**{name: 1.5})


def test_a_limit_that_does_not_exist_is_told_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Limits has no field 'wall'; did you mean 'wall_s'\?"):
        Limits(wall=3)
    with pytest.raises(ConfigError, match=r"Limits\.wall_s is given twice"):
        Limits(3, wall_s=3)
    with pytest.raises(ConfigError, match="Limits takes at most 6 values, not 7"):
        Limits(1, 2, 3, 4, 5, 6, 7)
    limits = replace(Limits(3), cpu_s=4)
    assert pickle.loads(pickle.dumps(limits)) == copy.deepcopy(limits) == Limits(wall_s=3, cpu_s=4)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "soon", None])
def test_a_wrong_setting_of_the_pool_names_field_and_value(value: object) -> None:
    for name, field in PoolSettings.model_fields.items():
        if value is None and field.default is None:
            continue
        if (name, value) in (("smallest", 0), ("buffer", 0)):
            continue
        with pytest.raises(ConfigError) as caught:
            PoolSettings(**{name: value})
        assert str(caught.value).startswith(f"PoolSettings.{name} = {value!r}: ")


def test_runs_from_a_thread_that_ends() -> None:
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(shell(_working()[0], "echo ok")))
    thread.start()
    thread.join()
    assert outcomes[0].stdout == b"ok\n"
