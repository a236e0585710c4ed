import json
import urllib.error
import urllib.request

import pytest
from database.comparing import push
from database.test_serve import _until
from log_directories import write_run

import pulseboard as pb
from pulseboard.cli import main
from pulseboard.serve.settings import BadSetting

ALL, VISION, READER = "a-token-for-everything", "a-token-of-the-vision-team", "a-token-that-only-reads"
USER = "X-Forwarded-User"


@pytest.fixture
def logs(tmp_path, connection):
    for name in ("vision/a", "vision/b", "language/a"):
        write_run(tmp_path / "logs" / name, (0, 1.0), (1, 0.5))
    push(tmp_path / "logs", connection)
    return tmp_path


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"full {ALL} Anna\nfull@vision/ {VISION} Ben\nread@vision/ {READER} Cem\n")
    return str(path)


def test_a_token_of_a_project_reaches_only_its_runs(logs, url, tokens):
    with pb.serve(url, port=0, token_file=tokens) as server:
        assert _until(lambda: names(server, ALL) == ["language/a", "vision/a", "vision/b"]) is None
        assert _until(lambda: names(server, VISION) == ["vision/a", "vision/b"]) is None
        for path in ("points?run=language/a&tag=loss", "tags?run=language/a", "diagnosis?run=language/a"):
            assert status(server, path, VISION) == 404
            assert status(server, path, ALL) == 200
        window = {"runs": ["language/a"], "tags": ["loss"], "buckets": 5}
        assert status(server, "window", VISION, body=window, method="POST") == 404
        assert status(server, "export?format=csv", VISION) == 200
        assert b"language/" not in get(server, "export?format=csv", VISION)
        assert status(server, "marks", VISION, body={"marks": {"language/a": {"pinned": True}}}, method="PUT") == 404
        assert status(server, "marks", READER, body={"marks": {"vision/a": {"pinned": True}}}, method="PUT") == 403
        assert status(server, "runs", "not-a-token-of-anyone") == 401


def test_every_change_by_a_user_is_in_the_audit(logs, url, tokens, capsys):
    with pb.serve(url, port=0, token_file=tokens) as server:
        _until(lambda: len(names(server, VISION)) == 2)
        get(server, "marks", VISION, body={"marks": {"vision/a": {"note": "mine"}}}, method="PUT")
        get(server, "views", ALL, body={"views": {"overview": "#scalars"}}, method="PUT")
    capsys.readouterr()
    assert main(["db", "audit", url, "--json"]) == 0
    view, mark = json.loads(capsys.readouterr().out)["changes"]
    assert (mark["who"], mark["kind"], json.loads(mark["value"])["note"]) == ("Ben", "marks", "mine")
    assert (view["who"], view["kind"]) == ("Anna", "views")
    assert main(["db", "audit", url, "--rows", "1", "--brief"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.split("\t")[1] == "Anna"


def test_tokens_of_projects_need_a_database(tmp_path, tokens):
    write_run(tmp_path / "runs" / "a", (0, 1.0))
    with pytest.raises(BadSetting, match="need a database"):
        pb.serve(tmp_path / "runs", port=0, token_file=tokens)


def test_users_of_a_proxy_have_the_project_and_role_of_their_line(logs, url, tmp_path):
    users = tmp_path / "users"
    users.write_text("full user:anna@example.com Anna\nread@vision/ user:ben@example.com\n")
    with pb.serve(url, port=0, token_file=str(users), user_header=USER) as server:
        _until(lambda: len(names(server, None, user="anna@example.com")) == 3)
        _until(lambda: names(server, None, user="ben@example.com") == ["vision/a", "vision/b"])
        assert status(server, "runs", None, user="stranger@example.com") == 403
        assert status(server, "runs", None) == 401
        # Only the header says who a user is.
        assert status(server, "runs", "user:anna@example.com") == 401
        assert status(server, "runs?token=user:anna@example.com", None) == 401
        body = {"marks": {"vision/a": {"pinned": True}}}
        assert status(server, "marks", None, user="ben@example.com", body=body, method="PUT") == 403
        assert status(server, "marks", None, user="anna@example.com", body=body, method="PUT") == 200


def names(server, token, **options):
    return sorted(run["name"] for run in json.loads(get(server, "runs", token, **options))["runs"])


def get(server, path, token, *, user=None, body=None, method="GET"):
    headers = {"Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {USER: user} if user else {}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(f"{server.url}api/{path}", data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read()


def status(*args, **options):
    try:
        get(*args, **options)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    return 200
