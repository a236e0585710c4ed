"""The module tree: the modules of a model, and what watch records of them."""

import json

import pytest
import torch
from torch import nn

import pulseboard as pb
from pulseboard.core.module_tree import Module, Parameter
from pulseboard.instruments.watch.module_tree import module_tree
from pulseboard.record import messages


def block():
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))


def test_every_module_is_listed_with_its_own_parameters():
    model = block()
    model[0].bias.requires_grad_(False)
    tree = module_tree(model)
    weight, bias = Parameter("weight", (4, 3), "float32", True), Parameter("bias", (4,), "float32", False)
    assert tree.modules == (
        Module("", "Sequential", ()),
        Module("0", "Linear", (weight, bias)),
        Module("1", "ReLU", ()),
        Module("2", "Linear", (Parameter("weight", (2, 4), "float32", True),)),
    )
    assert (tree.parameters, tree.trained_parameters) == (24, 20)


def test_a_parameter_with_two_names_is_counted_once():
    model = nn.ModuleDict({"embedding": nn.Embedding(10, 4), "out": nn.Linear(4, 10, bias=False)})
    model["out"].weight = model["embedding"].weight
    tree = module_tree(model)
    assert tree.parameters == sum(p.numel() for p in model.parameters()) == 40
    assert tree.modules[2].parameters[0].tied_to == "embedding.weight"


def test_modules_beyond_the_limit_are_counted_but_not_listed():
    tree = module_tree(nn.Sequential(*(block() for _ in range(10))), max_modules=9, max_parameters=5)
    assert [module.path for module in tree.modules] == ["", "0", "0.0", "0.1", "0.2", "1", "1.0", "1.1", "1.2"]
    assert tree.left_out_modules == 1 + 10 * 4 - 9
    assert sum(len(module.parameters) for module in tree.modules) == 5
    assert tree.left_out_parameters == 1
    assert tree.parameters == 10 * 24


@pytest.mark.parametrize("name", ["module", "_orig_mod"])  # as in DDP and torch.compile
def test_wrappers_around_a_model_are_left_out(name):
    wrapped = nn.Module()
    setattr(wrapped, name, block())
    assert module_tree(wrapped) == module_tree(block())


def test_a_lazy_module_has_no_shape_yet():
    tree = module_tree(nn.Sequential(nn.LazyLinear(4)))
    assert [parameter.shape for parameter in tree.modules[1].parameters] == [None, None]
    assert tree.parameters == 0


def recorded(run):
    run.flush()
    return json.loads((run.directory / "module_tree.json").read_text())


def test_watch_writes_the_tree_next_to_the_run_file_and_not_into_the_configuration(tmp_path):
    messages.reset()
    with pb.init(dir=tmp_path, run_id="r", telemetry_secs=0, strict=True) as run:
        model = block()
        pb.watch(model, torch.optim.SGD(model.parameters(), lr=0.1), run=run).close()
        (tree,) = recorded(run)["models"]
        assert [module["path"] for module in tree["modules"]] == ["", "0", "1", "2"]
        assert tree["modules"][1]["parameters"][0] == {
            "name": "weight",
            "shape": [4, 3],
            "dtype": "float32",
            "trained": True,
        }
        assert tree["parameters"] == 24
        assert "Linear" not in (run.directory / "run.json").read_text()
        # Watching the same model again adds nothing; another model is added.
        pb.watch(model, run=run).close()
        assert len(recorded(run)["models"]) == 1
        pb.watch(nn.Linear(2, 2), run=run).close()
        assert [model["parameters"] for model in recorded(run)["models"]] == [24, 6]


def test_a_failing_tree_does_not_reach_the_loop(tmp_path, capsys):
    messages.reset()

    def broken():
        raise RuntimeError("odd model")

    with pb.init(dir=tmp_path, run_id="r", telemetry_secs=0) as run:
        run.save_modules(broken)
        run.log({"loss": 1.0})
    assert "odd model" in capsys.readouterr().err
    assert not (run.directory / "module_tree.json").exists()
