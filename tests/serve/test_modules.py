"""The modules of a model, as a run told of them and as the server answers."""

import json
import os

import pytest
from log_directories import write_run
from servers import small_model

from pulseboard.files.module_tree import as_json, from_json


def test_the_modules_of_a_watched_model_are_answered_with_counts_and_shapes(board):
    answer = board.api("modules?run=rich").json
    assert answer["run"] == "rich"
    (model,) = answer["models"]
    assert (model["parameters"], model["trained_parameters"], model["left_out_modules"]) == (50, 40, 3)
    assert [(module["path"], module["kind"]) for module in model["modules"]] == [
        ("", "Tied"),
        ("embedding", "Embedding"),
        ("out", "Linear"),
    ]
    weight, bias = model["modules"][2]["parameters"]
    assert weight["tied_to"] == "embedding.weight"
    assert (weight["shape"], weight["count"]) == ([10, 4], 0)  # counted where it is tied to
    assert (bias["shape"], bias["count"], bias["dtype"], bias["trained"]) == ([10], 10, "bfloat16", False)


def test_the_list_of_runs_says_which_have_modules(board):
    assert {run["name"]: run["has_modules"] for run in board.api("runs").json["runs"]} == {"plain": False, "rich": True}


def test_a_run_without_modules_says_what_to_call(board):
    answer = board.api("modules?run=plain")
    assert answer.status == 404
    assert "pb.watch" in answer.json["error"]["do"]


def test_the_modules_are_no_hyperparameters(board):
    assert board.api("hparams").json["runs"]["rich"]["config"] == {"depth": 3}


@pytest.mark.parametrize(
    "said", ["{", "[1, 2]", '{"schema": 1, "models": [{"modules": 3}]}', '{"schema": 9}', "[" * 9999]
)
def test_a_file_of_that_name_that_is_something_else_is_no_tree(serve, tmp_path, said):
    logs = tmp_path / "runs"
    write_run(logs / "odd", (0, 1.0))
    (logs / "odd" / "module_tree.json").write_text(said)
    server = serve(logs)
    assert server.api("modules?run=odd").status == 404


def test_a_link_is_not_followed(serve, tmp_path):
    logs = tmp_path / "runs"
    write_run(logs / "linked", (0, 1.0))
    (tmp_path / "elsewhere.json").write_text(json.dumps(as_json([small_model()])))
    os.symlink(tmp_path / "elsewhere.json", logs / "linked" / "module_tree.json")
    server = serve(logs)
    assert server.api("modules?run=linked").status == 404
    assert not server.api("runs").json["runs"][0]["has_modules"]


def test_what_is_written_is_what_is_read():
    assert from_json(json.loads(json.dumps(as_json([small_model()])))) == [small_model()]


@pytest.mark.parametrize("shape", [[-1], [2.5], [1 << 60], [1 << 30, 1 << 30], "ab", [True]])
def test_a_shape_that_is_none_makes_no_tree(shape):
    told = as_json([small_model()])
    told["models"][0]["modules"][1]["parameters"][0]["shape"] = shape
    assert from_json(told) == []
