"""Real trainings with Hugging Face's Trainer."""

import pytest
import transformers
from integrations.small_trainings import language_model, rows, transformers_trainer

import pulseboard as pb
from pulseboard.integrations.transformers import PulseboardCallback


def steps(points):
    return [step for step, _ in points]


def test_a_training_is_logged_under_the_tags_of_the_tensorboard_callback(settings, recorded, run_json):
    training = transformers_trainer(
        PulseboardCallback(**settings), eval_strategy="steps", eval_steps=3, run_name="first"
    )
    training.train()
    points = recorded()
    history = [row for row in training.state.log_history if "loss" in row]
    assert points["train/loss"] == [(row["step"], pytest.approx(row["loss"])) for row in history]
    assert steps(points["train/loss"]) == [1, 2, 3, 4, 5, 6]
    assert steps(points["eval/loss"]) == [3, 6]
    assert {"train/learning_rate", "train/grad_norm", "train/epoch", "train/train_runtime"} <= points.keys()
    assert run_json()["status"] == "finished"
    assert run_json()["id"].endswith("_001-first")
    assert run_json()["config"]["max_steps"] == 6
    assert run_json()["config"]["model"]["n_embd"] == 8


def test_evaluations_after_a_training_go_to_its_run(settings, recorded, run_json):
    training = transformers_trainer(PulseboardCallback(**settings))
    training.evaluate()
    training.train()
    assert run_json()["status"] == "finished"
    training.evaluate()
    training.predict(training.eval_dataset)
    points = recorded()
    assert steps(points["eval/loss"]) == [0, 6]
    assert steps(points["test/loss"]) == [6]
    assert steps(points["train/loss"]) == [1, 2, 3, 4, 5, 6]
    assert run_json()["status"] == "finished"


@pytest.mark.parametrize("restore", [False, True])
def test_a_training_from_a_checkpoint_continues_its_run(settings, recorded, run_json, restore):
    named = {"save_strategy": "steps", "save_steps": 4, "restore_callback_states_from_checkpoint": restore}
    transformers_trainer(PulseboardCallback(**settings), **named).train()
    later = transformers_trainer(PulseboardCallback(**settings), max_steps=8, **named)
    later.train(resume_from_checkpoint="out/checkpoint-4")
    points = recorded()
    assert steps(points["train/loss"]) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [value for _, value in points["train/loss"][4:]] == [
        pytest.approx(row["loss"]) for row in later.state.log_history if row.get("step", 0) > 4 and "loss" in row
    ]
    assert len(run_json()["resumed"]) == 1


def test_a_training_that_goes_back_to_its_own_checkpoint_logs_no_step_twice(settings, recorded):
    training = transformers_trainer(PulseboardCallback(**settings), save_strategy="steps", save_steps=4)
    training.train()
    training.train(resume_from_checkpoint="out/checkpoint-4")
    assert steps(recorded()["train/loss"]) == [1, 2, 3, 4, 5, 6]


def test_a_checkpoint_of_a_missing_run_starts_another(settings, tmp_path, capsys):
    named = {"save_strategy": "steps", "save_steps": 4}
    transformers_trainer(PulseboardCallback(run_id="gone", **settings), **named).train()
    (tmp_path / "runs" / "gone").rename(tmp_path / "elsewhere")
    transformers_trainer(PulseboardCallback(**settings), **named).train(resume_from_checkpoint="out/checkpoint-4")
    assert "There is no run 'gone' to resume" in capsys.readouterr().err
    (run,) = pb.read(tmp_path / "runs").values()
    assert run.series("train/loss").steps.tolist() == [5, 6]


def test_a_checkpoint_from_before_the_callback_can_be_resumed_from(settings, recorded):
    named = {"save_strategy": "steps", "save_steps": 2}
    transformers_trainer(transformers.TrainerCallback(), **named).train()
    transformers_trainer(PulseboardCallback(**settings), **named).train(resume_from_checkpoint="out/checkpoint-4")
    assert steps(recorded()["train/loss"]) == [5, 6]


def test_a_second_training_is_a_second_run(settings, tmp_path):
    training = transformers_trainer(PulseboardCallback(**settings))
    training.train()
    training.train()
    assert [len(run.series("train/loss")) for run in pb.read(tmp_path / "runs").values()] == [6, 6]


def test_a_run_passed_by_the_user_stays_open(settings, recorded, run_json):
    with pb.init(**settings) as run:
        transformers_trainer(PulseboardCallback(run=run), max_steps=2).train()
        assert run_json()["status"] == "running"
        run.log({"mine": 1.0}, step=3)
    assert steps(recorded()["train/loss"]) == [1, 2]
    assert recorded()["mine"] == [(3, 1.0)]


def test_report_to_finds_the_callback_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = transformers.TrainingArguments(
        output_dir="out", max_steps=2, logging_steps=1, use_cpu=True, report_to="pulseboard", disable_tqdm=True,
        save_strategy="no",
    )  # fmt: skip
    transformers.Trainer(model=language_model(), args=arguments, train_dataset=rows()).train()
    (run,) = pb.read(tmp_path / "runs").values()
    assert run.series("train/loss").steps.tolist() == [1, 2]
