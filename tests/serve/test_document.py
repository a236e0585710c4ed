"""The OpenAPI document: what the server answers is what it says, and the page's types are made of it."""

import sys
from pathlib import Path

import pytest

from pulseboard.serve import schema
from pulseboard.serve.endpoint import load_endpoints
from pulseboard.serve.errors import BadRequest

ROOT = Path(__file__).resolve().parents[2]

# Every endpoint that answers with JSON, asked of logs that have every kind of value.
ASKED = {
    "status": None,
    "runs": None,
    "tags": None,
    "tags?names=1": None,
    "restarts?run=plain": None,
    "points?run=rich&tag=odd": None,
    "histograms?run=rich&tag=weights": None,
    "distributions?run=rich&tag=weights": None,
    "images?run=rich&tag=samples": None,
    "audio?run=rich&tag=speech": None,
    "texts?run=rich&tag=notes": None,
    "hparams": None,
    "modules?run=rich": None,
    "diagnosis": None,
    "guide?slug=loss-spike": None,
    "meaning?tag=train/loss": None,
    "meaning?tag=zzz": None,
    "marks": None,
    "table": {"metrics": ["loss"]},
}


def declared(path, body):
    """What the document says of the answer to a request."""
    return load_endpoints()[path.partition("?")[0]]["GET" if body is None else "POST"].gives


@pytest.mark.parametrize(("path", "body"), ASKED.items())
def test_an_answer_is_what_the_document_says(board, path, body):
    answer = board.api(path, body) if body else board.api(path)
    assert answer.status == 200, answer.body
    schema.check(answer.json, declared(path, body), at="answer")


def test_every_json_answer_is_described():
    silent = [
        path
        for path, methods in load_endpoints().items()
        for found in methods.values()
        if found.media_type == "application/json" and found.gives is None
    ]
    assert silent == ["openapi.json"]


def test_an_answer_that_lacks_a_field_or_has_another_type_would_be_seen(board):
    runs = board.api("runs").json
    gives = declared("runs", None)
    for broken in ({**runs["runs"][0], "points": "many"}, {"name": "plain"}):
        with pytest.raises(BadRequest):
            schema.check({**runs, "runs": [broken]}, gives, at="answer")


def test_named_schemas_are_listed_once_and_referred_to(board):
    document = board.api("openapi.json").json
    listed = document["components"]["schemas"]
    answer = document["paths"]["/runs"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer["properties"]["runs"]["items"] == {"$ref": "#/components/schemas/RunSummary"}
    assert listed["RunSummary"]["properties"]["marks"] == {
        "anyOf": [{"$ref": "#/components/schemas/Marks"}, {"type": "null"}]
    }
    assert "title" in listed["ServerStatus"]["properties"]


def test_the_types_of_the_page_are_made_of_this_document(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    sys.modules.pop("api_types", None)
    import api_types

    made_of = api_types.TYPES.read_text(encoding="utf-8").partition("\n")[0]
    assert made_of == api_types.first_line(api_types.document()), "The page's types are old: make types"
