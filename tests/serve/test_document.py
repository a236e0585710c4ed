"""The OpenAPI document: responses match it, and the page's types are generated from it.

Endpoints are found by themselves: a new file in routes/ is tested here without a change.
"""

import itertools
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pulseboard.serve.http.endpoint import load_endpoints
from pulseboard.serve.http.errors import BadRequest
from pulseboard.serve.http.validation import validate

ROOT = Path(__file__).resolve().parents[2]

# Values for required parameters. Every combination is requested, and at least one must succeed.
VALUES = {
    "run": ("rich", "plain"),
    "tag": ("odd", "weights", "samples", "speech", "notes", "train/loss"),
    "slug": ("loss-spike",),
}
# The logs contain no graph.
WITHOUT_DATA = {"graph"}

# Requests with optional parameters, and bodies.
MORE_REQUESTS = {
    "tags?names=1": None,
    "meaning?tag=zzz": None,
    "scorecard?run=rich&profile=hjepa": None,
    "table": {"metrics": ["loss"]},
}


def json_endpoints(method):
    return [
        methods[method]
        for methods in load_endpoints().values()
        if method in methods and methods[method].returns is not None
    ]


@pytest.mark.parametrize("endpoint", json_endpoints("GET"), ids=lambda endpoint: endpoint.path)
def test_responses_match_the_document(server, endpoint):
    unknown = set(endpoint.required) - set(VALUES)
    assert not unknown, f"Add values for the required parameters {unknown} to VALUES."
    combinations = itertools.product(*(VALUES[name] for name in endpoint.required))
    statuses = set()
    for values in combinations:
        response = server.api(f"{endpoint.path}?{urlencode(dict(zip(endpoint.required, values, strict=True)))}")
        statuses.add(response.status)
        if response.status == 200:
            validate(response.json, endpoint.returns, at="response")
    assert statuses <= {200, 404}
    assert 200 in statuses or endpoint.path in WITHOUT_DATA


@pytest.mark.parametrize(("path", "body"), MORE_REQUESTS.items())
def test_responses_to_further_requests_match_the_document(server, path, body):
    response = server.api(path, body) if body else server.api(path)
    assert response.status == 200, response.body
    endpoint = load_endpoints()[path.partition("?")[0]]["GET" if body is None else "POST"]
    validate(response.json, endpoint.returns, at="response")


def test_every_json_response_is_described():
    undescribed = [
        path
        for path, methods in load_endpoints().items()
        for endpoint in methods.values()
        if endpoint.media_type == "application/json" and endpoint.returns is None
    ]
    assert undescribed == ["openapi.json"]


def test_a_response_with_a_missing_field_or_a_wrong_type_would_be_noticed(server):
    runs = server.api("runs").json
    returns = load_endpoints()["runs"]["GET"].returns
    for broken in ({**runs["runs"][0], "points": "many"}, {"name": "plain"}):
        with pytest.raises(BadRequest):
            validate({**runs, "runs": [broken]}, returns, at="response")


def test_named_schemas_are_components_and_are_referenced(server):
    document = server.api("openapi.json").json
    components = document["components"]["schemas"]
    response = document["paths"]["/runs"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert response["properties"]["runs"]["items"] == {"$ref": "#/components/schemas/RunSummary"}
    assert components["RunSummary"]["properties"]["marks"] == {
        "anyOf": [{"$ref": "#/components/schemas/Marks"}, {"type": "null"}]
    }
    assert "title" in components["ServerStatus"]["properties"]


def test_the_page_types_are_generated_from_the_current_document(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    sys.modules.pop("api_types", None)
    import api_types

    first_line = api_types.TYPES.read_text(encoding="utf-8").partition("\n")[0]
    assert first_line == api_types.first_line(api_types.document()), "The page's types are out of date: make types"
