"""A proxy in front of the server logs users in and names them in a header."""

import json
import urllib.error
import urllib.request

import pytest
from log_directories import write_run

import pulseboard as pb
from pulseboard.serve.http.request import Request
from pulseboard.serve.security.access import Guard
from pulseboard.serve.settings import BadSetting, ServerSettings


def test_a_proxy_logs_users_in_and_without_it_nobody_gets_in(tmp_path):
    write_run(tmp_path / "a", (0, 1.0))
    with pb.serve(tmp_path, port=0, user_header="X-Forwarded-User") as server:
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(f"{server.url}api/runs", timeout=60)
        refused.value.close()
        request = urllib.request.Request(f"{server.url}api/status", headers={"X-Forwarded-User": "anna"})
        with urllib.request.urlopen(request, timeout=60) as response:
            status = json.load(response)
    assert (status["user"], status["role"]) == ("anna", "full")


def test_only_a_trusted_proxy_can_say_who_a_user_is():
    guard = Guard(user_header="X-User", proxies=["10.0.0.7"])

    def user(address, **headers):
        scope = {"method": "GET", "path": "/", "client": (address, 1)}
        scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]
        return guard.user_of(Request(scope, None))

    assert user("10.0.0.7", **{"x-user": "anna"}) == "anna"
    assert user("127.0.0.1", **{"x-user": "anna"}) == "anna"
    assert user("10.0.0.8", **{"x-user": "anna"}) is None
    assert user("10.0.0.7", authorization="Bearer user:anna") is None
    assert user("10.0.0.7") is None


def test_a_proxy_without_a_header_is_a_bad_setting():
    with pytest.raises(BadSetting, match="--user_header"):
        ServerSettings(proxies=["10.0.0.7"])
