"""The length of answers about trainings with known faults, and how many of them are right."""

import json
import math
import re

import pytest
from zoo import tokens, wandb_rules


def write(directory, name, losses, *, findings):
    folder = directory / "runs" / name
    folder.mkdir(parents=True)
    rows = [f"{step},{loss!r}" for step, loss in enumerate(losses)]
    (folder / "metrics.csv").write_text("step,train_loss\n" + "\n".join(rows) + "\n")
    truth = {"name": name, "base": "mlp", "fault": "x", "held_out": False, "visible": True}
    (directory / "truth").mkdir(exist_ok=True)
    (directory / "truth" / f"{name}.json").write_text(json.dumps({**truth, "findings": findings, "causes": []}))


@pytest.fixture
def directory(tmp_path):
    falling = [2.0 * math.exp(-step / 80) + 0.05 * math.sin(step * 7.0) for step in range(200)]
    write(tmp_path, "turns-nan", [*falling[:150], *[float("nan")] * 50], findings=["loss-nan"])
    write(tmp_path, "leaks", falling, findings=["memory-growth"])
    return tmp_path


def cells(text, start):
    (line,) = (line for line in text.splitlines() if line.startswith(start))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_an_answer_is_right_if_it_names_the_fault(directory, monkeypatch):
    monkeypatch.setattr(tokens, "FAULTY", 2)
    text = tokens.measured(directory)
    for tool in ("| Pulseboard", "| W&B"):
        right, median, longest, spent = cells(text, tool)
        assert right == "1 of 2"
        assert float(median) == float(longest) > 50
        assert float(spent) > float(median)  # the wrong answer had to be read too
    assert re.search(r"An overview of 2 trainings, .* with a line for each of 2\.", text)


def test_too_few_trainings_are_an_error_that_says_how_to_make_some(directory):
    with pytest.raises(SystemExit, match=r"20 faulty trainings are needed, and there are 2 .* python -m zoo small"):
        tokens.measured(directory)


def test_the_answer_format_of_wandb_has_its_figures():
    log = "step,timestamp,train_loss,val_loss\n" + "".join(f"{i},0,{2 - i / 50},{1 + i / 50}\n" for i in range(60))
    answer = json.loads(wandb_rules.answer(log, run="r"))
    assert answer["diagnosis"] == "training"
    assert answer["loss_stats"]["first_value"] == 2.0
    assert answer["loss_stats"]["trend"] == "decreasing"
    assert answer["overfit_signal"]["detected"] is True
    assert answer["overfit_signal"]["val_loss_trend"] == "increasing"
    assert answer["detected_keys"] == {"loss": "train_loss", "val_loss": "val_loss"}
