"""Logs of public projects: the server has what `pb.read` reads, and runs are counted as a person would count them."""

import math
import random
import urllib.parse

import pytest
from corpus import need_corpus, need_wild
from servers import a_server

import pulseboard as pb

# By folder: how many trainings a person finds in its files. Chosen for variety: one training logged several times,
# several trainings in one file, sweeps, checkpoints, parallel environments.
TRAININGS = {
    "Abonia1+YOLOv8-Fire-and-Smoke-Detection": 1,  # event files and results.csv
    "AdirajJohn+Audio_Classification": 2,
    "AtariRL+atari-pytorch": 2,  # log.txt, cut short, next to progress.csv, twice
    "GiammaBigFishEngineer+PanopticSegmantation-MRI": 2,  # started twice in one directory, event files and metrics.json
    "10844110+t5-summarization-demo": 1,  # event file and trainer_state.json
    "1726251215+Representation-Learning": 4,  # appended to one file
    "DimiZorgon+tetris_rl": 3,
    "Francis-xsc+BERT_Weibo_Rumor": 1,
    "1010sb+ImageClass": 9,  # MLflow
    "ChinemeremChigbo+maml-ppo": 4,  # Sacred
    "xrxu+ADSFT": 6,  # SwanLab
    "0084takuya+keiba": 1,  # CatBoost
    "Brycenvn+dvc-yolov8": 1,  # DVCLive
    "Goreg12345+nlp2-probing-lms": 5,  # Lightning
    "sottsout+SAC_PROJECT": 4,  # started four times in one directory
    "Adityagupta2590+Detection_fish": 4,
    "xxxfrankla+mae": 7,  # one of them with a log of mean losses
    "siddinkar+RainbowPolicyGradientPaper": 8,  # Spinning Up
    "hyojaekim03+warp-mujoco-domain-randomization": 2,  # started twice in one directory, one with a CSV file
}
# These hold logs without a single value: stack traces, progress bars, a store that we cannot read.
EMPTY = {
    "neverorfrog+whistlenet",
    "pydeveloperashish+MLFLOW-Pytorch-Project-MLOps",
    "roman91DE+kaggle_podcasts",
}


@pytest.mark.parametrize("folder", TRAININGS)
def test_runs_are_counted_as_a_person_would(folder):
    assert len(pb.read(need_wild() / folder)) == TRAININGS[folder]


def test_parallel_environments_of_a_real_training_are_one_run():
    runs = pb.read(need_corpus() / "AllanHenri+PIBIC_PETOI")
    assert [len(run.logs()) for run in runs.values() if run.format == "sb3-monitor"] == [8]


def test_every_folder_with_values_has_a_run():
    top = need_wild()
    names = sorted(path.name for path in top.iterdir() if path.is_dir())
    sample = random.Random(0).sample(names, 40)
    without = {name for name in sample if not pb.read(top / name)}
    assert without <= EMPTY


@pytest.mark.parametrize("folder", ["AdirajJohn+Audio_Classification", "1010sb+ImageClass", "AtariRL+atari-pytorch"])
def test_the_server_has_the_points_that_are_read(folder, tmp_path):
    top = need_wild() / folder
    runs = pb.read(top)
    with a_server(top, tmp_path) as server:
        served = {run["name"]: run["points"] for run in server.api("runs").json["runs"]}
        assert served == {name: run.points for name, run in runs.items()}
        for name, run in runs.items():
            for tag in run.tags("scalar"):
                _assert_same(server, name, run.series(tag))


def _assert_same(server, name, series):
    query = {"run": name, "tag": series.tag, "offset": len(series) - 1}
    found = server.api("points?" + urllib.parse.urlencode(query)).json
    assert found["total"] == len(series)
    assert found["steps"] == [int(series.steps[-1])]
    last = float(found["values"][0])
    assert last == series.values[-1] or (math.isnan(last) and math.isnan(series.values[-1]))
