"""Logs of public projects: runs are counted as a person would count them.

`runs.tsv` has what a person finds in each folder, and why where the files alone do not show it.
"""

import csv
from pathlib import Path

import pytest
from corpus import need_corpus, need_wild

import pulseboard as pb

pytestmark = pytest.mark.early

with (Path(__file__).parent / "runs.tsv").open(encoding="utf-8", newline="") as stream:
    ROWS = list(csv.DictReader(stream, delimiter="\t"))
TOPS = {"corpus": need_corpus, "wild": need_wild}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["folder"])
def test_runs_are_counted_as_a_person_would(row):
    folder = TOPS[row["collection"]]() / row["folder"]
    if not folder.is_dir():
        pytest.skip(f"not among the published logs that are here: {folder}")
    runs = pb.read(folder)
    assert len(runs) == int(row["runs"]), (row["why"], sorted(runs))


@pytest.mark.parametrize("collection", TOPS)
def test_every_folder_is_in_the_table(collection):
    found = {path.name for path in TOPS[collection]().iterdir() if path.is_dir()}
    assert found <= {row["folder"] for row in ROWS if row["collection"] == collection}


def test_folders_without_a_run_have_no_value():
    # Each was read by eye: stack traces, progress bars, files that end before the first value.
    assert {row["folder"] for row in ROWS if row["runs"] == "0"} == {
        "AnudeepReddy-Katta+cifar10",
        "neverorfrog+whistlenet",
        "pydeveloperashish+MLFLOW-Pytorch-Project-MLOps",
        "roman91DE+kaggle_podcasts",
    }


def test_text_that_a_model_wrote_and_settings_are_not_metrics():
    def tags(folder):
        return {tag for run in pb.read(need_wild() / folder).values() for tag in run.tags()}

    written = tags("JunyiJ+PostTraining-LLM-Small")
    assert {"reward", "grpo_loss", "kl", "acc", "steps_taken"} <= written
    assert not {"answer", "Final_answer", "Total_Distance", "km", "miles", "hours"} & written
    golf = tags("openai+parameter-golf")
    assert {"train_loss", "val_bpb", "step_avg"} <= golf
    assert not {"enabled_bits", "embed_bits", "scale"} & golf
