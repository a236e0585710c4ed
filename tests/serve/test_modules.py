"""The modules of a model: what a run recorded, and what the server returns."""

import json
import os

import pytest
from log_directories import write_run
from servers import small_model

from pulseboard.rundir.modules_file import from_json, to_json


def test_the_modules_of_a_watched_model_have_counts_and_shapes(server):
    response = server.api("modules?run=rich").json
    assert response["run"] == "rich"
    (model,) = response["models"]
    assert (model["parameters"], model["trained_parameters"], model["left_out_modules"]) == (50, 40, 3)
    assert [(module["path"], module["kind"]) for module in model["modules"]] == [
        ("", "Tied"),
        ("embedding", "Embedding"),
        ("out", "Linear"),
    ]
    weight, bias = model["modules"][2]["parameters"]
    assert weight["tied_to"] == "embedding.weight"
    assert (weight["shape"], weight["count"]) == ([10, 4], 0)  # counted at the parameter it is tied to
    assert (bias["shape"], bias["count"], bias["dtype"], bias["trained"]) == ([10], 10, "bfloat16", False)


def test_the_list_of_runs_shows_which_have_modules(server):
    assert {run["name"]: run["has_modules"] for run in server.api("runs").json["runs"]} == {
        "plain": False,
        "rich": True,
    }


def test_the_error_for_a_run_without_modules_says_what_to_call(server):
    response = server.api("modules?run=plain")
    assert response.status == 404
    assert "pb.watch" in response.json["error"]["do"]


def test_modules_are_not_listed_as_hyperparameters(server):
    assert server.api("hparams").json["runs"]["rich"]["config"] == {"depth": 3}


@pytest.mark.parametrize(
    "content", ["{", "[1, 2]", '{"schema": 1, "models": [{"modules": 3}]}', '{"schema": 9}', "[" * 9999]
)
def test_an_invalid_modules_file_is_ignored(serve, tmp_path, content):
    logs = tmp_path / "runs"
    write_run(logs / "odd", (0, 1.0))
    (logs / "odd" / "module_tree.json").write_text(content)
    server = serve(logs)
    assert server.api("modules?run=odd").status == 404


def test_a_link_is_not_followed(serve, tmp_path):
    logs = tmp_path / "runs"
    write_run(logs / "linked", (0, 1.0))
    (tmp_path / "elsewhere.json").write_text(json.dumps(to_json([small_model()])))
    os.symlink(tmp_path / "elsewhere.json", logs / "linked" / "module_tree.json")
    server = serve(logs)
    assert server.api("modules?run=linked").status == 404
    assert not server.api("runs").json["runs"][0]["has_modules"]


def test_a_module_tree_survives_a_round_trip():
    assert from_json(json.loads(json.dumps(to_json([small_model()])))) == [small_model()]


@pytest.mark.parametrize("shape", [[-1], [2.5], [1 << 60], [1 << 30, 1 << 30], "ab", [True]])
def test_an_invalid_shape_makes_the_file_invalid(shape):
    content = to_json([small_model()])
    content["models"][0]["modules"][1]["parameters"][0]["shape"] = shape
    assert from_json(content) == []
