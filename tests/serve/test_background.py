"""`pb.serve`: a server on a background thread."""

import pytest

import pulseboard as pb
from pulseboard.serve.http import uvicorn_server


def test_a_server_that_cannot_start_raises_instead_of_leaving_requests_waiting(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("no event loop")

    monkeypatch.setattr(uvicorn_server, "create", fail)
    with pytest.raises(RuntimeError, match="no event loop"):
        pb.serve(tmp_path, port=0)
