"""Bad requests: answered at once with what is wrong, never with a failure of the server."""

import contextlib
import http.client
import random
import socket
import string
import threading
import time
from urllib.parse import quote

import pytest

from pulseboard.serve import schema
from pulseboard.serve.errors import BadRequest
from pulseboard.serve.patterns import Pattern

WINDOW = {"runs": ["plain"], "tags": ["loss"]}


@pytest.mark.parametrize(
    "change",
    [
        {"runs": None},
        {"runs": "plain"},
        {"runs": [1]},
        {"tags": []},
        {"tags": ["x"] * 2000},
        {"x": "time"},
        {"from": "0"},
        {"from": 1e400},
        {"from": 10, "to": 0},
        {"buckets": 0},
        {"buckets": -1},
        {"buckets": 10**9},
        {"buckets": 1.5},
        {"buckets": "100"},
        {"log_x": "yes"},
        {"smoothing": {}},
        {"smoothing": {"kind": "magic"}},
        {"smoothing": {"kind": "debiased", "weight": 1}},
        {"smoothing": {"kind": "debiased", "weight": -0.1}},
        {"smoothing": {"kind": "gaussian", "weight": 1e9}},
        {"rank": -1},
        {"rank": 1e18},
        {"nonsense": 1},
        {"runs": ["\ud800"]},
        {"runs": ["x" * 5000]},
    ],
)
def test_a_window_that_has_no_meaning_is_refused_with_words(board, change):
    answer = board.api("window", {**WINDOW, **change})
    assert answer.status == 400, answer.body
    assert answer.error


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"1", b'{"runs": NaN}', b"\xff", b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000],
)
def test_a_body_that_is_no_question_is_refused(board, body):
    assert board.api("window", body).status == 400


def test_too_large_a_body_is_refused_before_it_is_read(board):
    connection = http.client.HTTPConnection("127.0.0.1", board.port)
    connection.putrequest("POST", "/api/window")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(10**12))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_too_large_an_answer_is_refused(board):
    answer = board.api("window", {"runs": ["plain", "rich"], "tags": ["loss"] * 1000, "buckets": 20000})
    assert answer.status == 413


@pytest.mark.parametrize(
    "path",
    [
        "points",
        "points?run=plain",
        "points?run=plain&tag=nothing",
        "points?run=plain&tag=loss&limit=-1",
        "points?run=plain&tag=loss&limit=1e9",
        "points?run=plain&tag=loss&offset=x",
        "points?run=plain&run=rich&tag=loss",
        "points?run=plain&tag=loss&rank=7",
        "points?run=%ff&tag=loss",
        "runs?filter=(",
        "runs?filter=" + "a" * 2000,
        "runs?nonsense=1",
        "tags?names=perhaps",
        "tags?run=nobody",
        "export?format=xml",
        "export?run=nobody",
        "image?run=rich&tag=loss",
        "image?run=rich&tag=samples&index=99999999999",
        "image?run=rich&tag=samples&frame=7",
        "histograms?run=rich&tag=loss",
        "graph?run=plain",
        "guide?slug=nothing",
        "guide?slug=../../etc/passwd",
        "guide",
        "stream?since=yes",
        "nothing",
        "",
        "status/",
        "../api/status",
    ],
)
def test_a_question_without_an_answer_is_told_so(board, path):
    answer = board.api(path)
    assert answer.status in (400, 404), answer.body
    assert answer.error


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "OPTIONS", "PUT", "TRACE", "PROPFIND"])
def test_a_method_that_is_none_is_refused(board, method):
    answer = board.api("runs", method=method)
    assert answer.status == 405
    assert answer.headers["allow"] == "GET"
    assert board.ask("", method=method).status == 405


EXPLODING = [
    *("(a+)+$", "(a|aa)+$", "(.*a){20}b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(?:a{1,300}){1,300}b", "(a*)*b"),
    *(
        "((((a{100}){100}){100}){100}){100}",
        "(?P<n>a)(?P=n)*\\1*\\1*$b",
        "(?:(?:(?:a*)*)*)*z",
        "(x+x+)+y",
        "a{99999999999}",
    ),
]


@pytest.mark.parametrize("pattern", EXPLODING)
def test_a_regular_expression_that_explodes_is_stopped(pattern):
    names = ["a" * 300 + "!", "x" * 300, *(f"run_{i}" for i in range(100))]
    began = time.thread_time()
    with contextlib.suppress(BadRequest):
        Pattern(pattern).filter(names)
    assert time.thread_time() - began < 2.0


def test_ordinary_expressions_mean_what_they_mean_in_python():
    names = ["baseline", "lr=0.1", "lr{e}", "sweep/lr=0.01", "x{}"]
    assert Pattern("^(?!.*lr)").filter(names) == ["baseline", "x{}"]
    assert Pattern("lr{e}").filter(names) == ["lr{e}"]
    assert Pattern("x{}").filter(names) == ["x{}"]
    assert Pattern("lr=(0.1)|base(line)").group("baseline") == " line"
    assert Pattern("[a-z]+").group("sweep/x") == "sweep"
    assert Pattern("zzz").group("sweep") is None


def test_others_are_answered_while_expressions_explode(board):
    stop = threading.Event()
    statuses = []

    def explode():
        while not stop.is_set():
            statuses.append(board.api("runs?filter=" + quote("(p+l*a*i*n*)+$x")).status)

    threads = [threading.Thread(target=explode) for _ in range(3)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    for _ in range(20):
        assert board.api("status").status == 200
    took = time.monotonic() - began
    stop.set()
    for thread in threads:
        thread.join()
    assert took < 10
    assert set(statuses) <= {200, 400}


def test_thousands_of_random_requests_fail_nothing(board):
    dice = random.Random(7)
    paths = ["points", "runs", "tags", "histograms", "image", "texts", "export", "meaning", "graph", "distributions"]
    names = ["run", "tag", "limit", "offset", "filter", "index", "frame", "kind", "names", "format", "rank", "since"]
    words = [
        "plain",
        "rich",
        "loss",
        "weights",
        "0",
        "-1",
        "1e9",
        "nan",
        "true",
        "",
        "\x00",
        "ü",
        "../..",
        "(",
        "a" * 300,
    ]
    connection = http.client.HTTPConnection("127.0.0.1", board.port)
    statuses = {}
    for _ in range(2000):
        query = "&".join(f"{dice.choice(names)}={quote(dice.choice(words))}" for _ in range(dice.randrange(4)))
        connection.request("GET", f"/api/{dice.choice(paths)}?{query}")
        answer = connection.getresponse()
        answer.read()
        statuses[answer.status] = statuses.get(answer.status, 0) + 1
    connection.close()
    assert set(statuses) <= {200, 304, 400, 404}, statuses
    assert statuses[400] > 500


def test_bytes_that_are_no_http_end_their_own_connection_only(board):
    dice = random.Random(3)
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", board.port), timeout=5) as one:
            one.sendall(bytes(dice.randrange(256) for _ in range(200)) + b"\r\n\r\n")
    with socket.create_connection(("127.0.0.1", board.port), timeout=5) as one:
        one.sendall(b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * 200_000)
    assert board.api("status").status == 200


@pytest.mark.parametrize("head", [b"GET /api/runs?a=", b"GET /api/runs HTTP/1.1\r\nx: "])
def test_a_head_without_end_ends_its_own_connection_only(board, head):
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", board.port), timeout=10) as stranger, contextlib.suppress(OSError):
        stranger.sendall(head)
        for _ in range(640):  # forty megabytes, and the server hangs up long before
            stranger.sendall(b"a" * (1 << 16))
        pytest.fail("the server took it all")
    assert board.api("status").status == 200
    assert time.monotonic() - began < 5


def test_a_head_of_a_hundred_thousand_bytes_is_taken(board):
    assert board.api("runs?pattern=" + "a" * 100_000).status in (200, 400)


def test_a_schema_checks_what_it_says():
    dice = random.Random(1)
    some = schema.record({"a": schema.whole(least=1, most=5, default=2), "b": schema.or_null(schema.choice("x", "y"))})
    assert schema.check({}, some, at="body") == {"a": 2}
    assert schema.check({"a": 3.0, "b": None}, some, at="body") == {"a": 3, "b": None}
    for wrong in (
        {"a": 0},
        {"a": True},
        {"a": 2.5},
        {"b": "z"},
        {"c": 1},
        [],
        None,
        "".join(dice.choices(string.printable)),
    ):
        with pytest.raises(BadRequest):
            schema.check(wrong, some, at="body")
