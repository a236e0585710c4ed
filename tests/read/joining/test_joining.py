"""One training that was logged several times is one run; two trainings of a sweep stay two."""

import json
import math

from builders import event_file, scalars, version
from other_formats import points, written

import pulseboard as pb


def _loss(step):
    return 2.0 * math.exp(-step / 9) + 0.01 * math.sin(step * 1.7)


def _write_events(directory, series):
    directory.mkdir(parents=True, exist_ok=True)
    events = [event for tag, values in series.items() for event in scalars(tag, *enumerate(values))]
    (directory / "events.out.tfevents.1").write_bytes(event_file(version(), *events))


def test_yolo_event_files_and_results_csv_are_one_run(tmp_path):
    losses = [_loss(step) for step in range(20)]
    maps = [1 - loss / 3 for loss in losses]
    _write_events(tmp_path / "train", {"train/box_loss": losses, "metrics/mAP50(B)": maps})
    rows = [
        f"{epoch + 1:>23},{losses[epoch]:>23.5g},{maps[epoch]:>23.5g},{epoch * 1.5:>23.5g}\n" for epoch in range(20)
    ]
    header = "                  epoch,         train/box_loss,       metrics/mAP50(B),            val/dfl_loss\n"
    written(tmp_path / "train" / "results.csv", header + "".join(rows))
    runs = pb.read(tmp_path)
    assert list(runs) == ["train"]
    run = runs["train"]
    assert {"train/box_loss", "metrics/mAP50(B)", "val/dfl_loss"} <= set(run.tags())
    assert not [tag for tag in run.tags() if tag != tag.strip() or "results.csv" in tag]
    assert len(run.series("train/box_loss")) == 20
    assert [note.what for note in run.notes() if "both are kept" in note.what] == []
    assert len(run.paths()) == 2


def test_the_three_logs_of_ray_tune_are_one_run(tmp_path):
    trial = tmp_path / "exp" / "trial_0"
    losses = [_loss(step) for step in range(12)]
    _write_events(trial, {"ray/tune/loss": losses, "ray/tune/acc": [1 - loss / 3 for loss in losses]})
    records = [
        {"loss": loss, "acc": 1 - loss / 3, "training_iteration": i + 1, "extra": loss * 2}
        for i, loss in enumerate(losses)
    ]
    written(trial / "result.json", "".join(json.dumps(record) + "\n" for record in records))
    rows = [f"{r['loss']},{r['acc']},{r['training_iteration']}\n" for r in records]
    written(trial / "progress.csv", "loss,acc,training_iteration\n" + "".join(rows))
    runs = pb.read(tmp_path)
    assert list(runs) == ["exp/trial_0"]
    assert "extra" in runs["exp/trial_0"].tags()
    assert "loss" not in runs["exp/trial_0"].tags()  # it is ray/tune/loss


def test_values_that_disagree_are_both_kept_and_a_note_says_so(tmp_path):
    losses = [_loss(step) for step in range(20)]
    _write_events(tmp_path / "run", {"a/loss": losses, "b/loss": losses[::-1], "val/loss": losses})
    rows = [f"{i},{losses[i]},{losses[19 - i]},{losses[i] + 1}\n" for i in range(20)]
    written(tmp_path / "run" / "log.csv", "step,a/loss,b/loss,val/loss\n" + "".join(rows))
    runs = pb.read(tmp_path)
    assert list(runs) == ["run"]
    run = runs["run"]
    assert set(run.tags()) == {"a/loss", "b/loss", "val/loss", "val/loss (log.csv)"}
    assert run.series("val/loss (log.csv)").tag == "val/loss (log.csv)"
    assert points(run, "val/loss (log.csv)")[3] == (3, losses[3] + 1)
    assert [note.level for note in run.notes()] == ["info"]
    assert "'val/loss'" in run.notes()[0].what


def test_trainings_of_a_sweep_are_not_joined(tmp_path):
    for i in range(4):
        losses = [_loss(step) + 0.01 * i for step in range(20)]
        _write_events(tmp_path / "logs" / f"s{i}", {"train/loss": losses, "lr": [0.1 / (s + 1) for s in range(20)]})
        other = "".join(f"{s},{_loss(s) + 0.01 * i + 0.003},{0.1 / (s + 1)}\n" for s in range(20))
        written(tmp_path / "csv" / f"s{i}.csv", "step,train/loss,lr\n" + other)
    assert len(pb.read(tmp_path)) == 8


def test_a_log_that_is_much_longer_gives_the_points(tmp_path):
    losses = [_loss(step) for step in range(40)]
    _write_events(tmp_path / "run", {"loss": losses[:20]})
    rows = "".join(f"{step},{loss}\n" for step, loss in enumerate(losses))
    written(tmp_path / "run" / "metrics.csv", "step,loss\n" + rows)
    runs = pb.read(tmp_path)
    assert list(runs) == ["run"]
    assert points(runs["run"], "loss") == list(enumerate(losses))
    assert runs["run"].points == 40


def test_two_logs_join_and_part_as_they_grow(tmp_path):
    losses = [_loss(step) for step in range(40)]
    _write_events(tmp_path / "run", {"loss": losses})
    path = written(tmp_path / "run" / "other.csv", "step,loss\n0,99\n1,98\n2,97\n")
    runs = pb.read(tmp_path)
    assert set(runs) == {"run", "run/other.csv"}
    rows = "".join(f"{step},{loss},{step / 8}\n" for step, loss in enumerate(losses))
    written(path, "step,loss,acc\n" + rows)
    changes = runs.poll()
    assert (changes.removed, changes.grown) == (("run/other.csv",), ("run",))
    assert runs["run"].tags() == ["loss", "acc"]
    path.unlink()
    assert runs.poll().grown == ("run",)
    assert runs["run"].tags() == ["loss"]
    assert not runs.poll()


def test_a_log_that_was_cut_short_belongs_to_the_longer_one_next_to_it(tmp_path):
    values = [_loss(step) for step in range(60)]
    rows = "".join(f"{640 * (i + 1)},{value!r}\n" for i, value in enumerate(values))
    written(tmp_path / "logs" / "progress.csv", "frame,value\n" + rows)
    rule = "-" * 29 + "\n"

    def write_tables(values):
        cells = ((f"{640 * (i + 1):<8.3g}", f"{value:<8.3g}") for i, value in enumerate(values))
        tables = [f"{rule}| frame          | {frame} |\n| value          | {value} |\n{rule}" for frame, value in cells]
        written(tmp_path / "logs" / "log.txt", "".join(tables))

    write_tables(values[:25])
    runs = pb.read(tmp_path)
    assert len(runs) == 1
    (run,) = runs.values()
    assert len(run.series("value")) == 60  # those of the longer log
    write_tables([value + 0.3 for value in values[:25]])  # another training
    assert len(pb.read(tmp_path)) == 2


MONITOR = '#{"t_start": 1700000000.0, "env_id": "CartPole-v1"}\nr,l,t\n'


def _write_monitors(directory, names):
    for i, name in enumerate(names):
        rows = "".join(f"{10 * i + episode},{20 + i},{episode + 1}.5\n" for episode in range(4))
        written(directory / name, MONITOR + rows)


def test_parallel_environments_are_one_run(tmp_path):
    _write_monitors(tmp_path / "monitors", ["0.monitor.csv", "1.monitor.csv", "2.monitor.csv"])
    runs = pb.read(tmp_path)
    assert len(runs) == 1
    (run,) = runs.values()
    assert len(run.logs()) == 3
    tags = [tag for tag in run.tags() if tag.startswith("episode/reward")]
    assert tags == ["episode/reward", "episode/reward (1.monitor.csv)", "episode/reward (2.monitor.csv)"]
    assert [run.series(tag).values[0] for tag in tags] == [0.0, 10.0, 20.0]
    assert [note.what for note in run.notes() if "both are kept" in note.what] == []


def test_monitors_of_two_trainings_are_two_runs(tmp_path):
    _write_monitors(tmp_path, ["a/0.monitor.csv", "b/0.monitor.csv"])
    _write_monitors(tmp_path / "c", ["train.monitor.csv", "eval.monitor.csv"])
    assert len(pb.read(tmp_path)) == 4


def test_the_last_checkpoint_is_a_checkpoint_of_the_training_above_it(tmp_path):
    history = {"log_history": [{"step": step, "loss": _loss(step)} for step in range(1, 9)]}
    written(tmp_path / "out" / "last-checkpoint" / "trainer_state.json", json.dumps(history))
    history["log_history"].append({"step": 9, "train_loss": 0.5})
    written(tmp_path / "out" / "trainer_state.json", json.dumps(history))
    assert list(pb.read(tmp_path)) == ["out"]


def test_trainings_whose_whole_rewards_agree_by_chance_are_not_joined(tmp_path):
    for name, rewards in (("a", [-18, -20, -18, -18, -16]), ("b", [-18, -18, -18, -18, -20])):
        lines = [f"Episode {i} reward {rewards[i % 5]}.000 eps {0.99**i:.3f}\n" for i in range(100)]
        written(tmp_path / f"{name}.txt", "".join(lines))
    assert sorted(pb.read(tmp_path)) == ["a.txt", "b.txt"]


def test_copies_of_whole_rewards_are_one_run(tmp_path):
    rewards = [-18, -20, -18, -18, -16]
    for name in ("a", "b"):
        lines = [f"Episode {i} reward {rewards[i % 5]}.000 eps {0.99**i:.3f}\n" for i in range(100)]
        written(tmp_path / f"{name}.txt", "".join(lines))
    assert len(pb.read(tmp_path)) == 1


def test_eval_loss_and_eval_slash_loss_are_one_tag(tmp_path):
    losses = [_loss(step) for step in range(12)]
    _write_events(tmp_path / "run", {"eval/loss": losses, "train/loss": [2 * loss for loss in losses]})
    rows = [f"{step},{loss},{2 * loss},{step / 3}\n" for step, loss in enumerate(losses)]
    written(tmp_path / "run" / "results.csv", "step,eval_loss,train/loss,grad_norm\n" + "".join(rows))
    (run,) = pb.read(tmp_path).values()
    assert set(run.tags()) == {"eval/loss", "train/loss", "grad_norm"}


def test_three_printed_digits_of_a_large_number_agree_with_all_of_its_digits(tmp_path):
    lengths = [660.067 + 20.813 * i for i in range(48)]
    rows = "".join(f"{12800 * (i + 1)},{length},{0.5 / (i + 1)}\n" for i, length in enumerate(lengths))
    written(tmp_path / "progress.csv", "time/total_timesteps,rollout/ep_len_mean,train/loss\n" + rows)
    rule = "-" * 40 + "\n"
    table = (
        rule
        + "| rollout/ep_len_mean | {length:.3g} |\n| total_timesteps | {step} |\n| train/loss | {loss:.3g} |\n"
        + rule
    )
    tables = [table.format(length=length, step=12800 * (i + 1), loss=0.5 / (i + 1)) for i, length in enumerate(lengths)]
    written(tmp_path / "log.txt", "".join(tables))
    (run,) = pb.read(tmp_path).values()
    assert not [tag for tag in run.tags() if "(" in tag]


def _write_mae(directory, *, epochs, level=1.0):
    """As MAE logs: the loss of some batches as event files, the mean loss of every epoch as JSON lines."""
    noisy = [
        _loss(epoch + part / 7) * (1 + 0.02 * math.sin(31 * (epoch + part / 7)))
        for epoch in range(epochs)
        for part in range(7)
    ]
    _write_events(directory, {"train_loss": noisy})
    means = [level * sum(_loss(epoch + part / 50) for part in range(50)) / 50 for epoch in range(epochs)]
    records = [{"train_lr": 1e-4 * (1 + epoch), "train_loss": mean, "epoch": epoch} for epoch, mean in enumerate(means)]
    written(directory / "log.txt", "".join(json.dumps(record) + "\n" for record in records))


def test_the_mean_losses_of_epochs_belong_to_the_training_whose_losses_they_average(tmp_path):
    _write_mae(tmp_path / "output", epochs=10)
    runs = pb.read(tmp_path)
    assert list(runs) == ["output"]
    assert set(runs["output"].tags()) == {"train_loss", "train_loss (log.txt)", "train_lr"}
    assert len(runs["output"].series("train_loss")) == 70
    assert len(runs["output"].series("train_loss (log.txt)")) == 10


def test_a_joined_run_knows_what_tensorboard_shows(tmp_path):
    _write_mae(tmp_path / "output", epochs=10)
    written(tmp_path / "alone.csv", "step,loss\n1,2.0\n2,1.0\n")
    runs = pb.read(tmp_path)
    assert runs["output"].whole.tags() == ["train_loss"]
    assert runs["alone.csv"].whole is runs["alone.csv"]


def test_mean_losses_of_another_level_are_another_training(tmp_path):
    _write_mae(tmp_path / "output", epochs=10, level=1.3)
    assert set(pb.read(tmp_path)) == {"output", "output/log.txt"}


def test_mean_losses_in_another_directory_are_another_training(tmp_path):
    _write_mae(tmp_path / "one", epochs=10)
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "log.txt").rename(tmp_path / "two" / "log.txt")
    assert set(pb.read(tmp_path)) == {"one", "two/log.txt"}


def _olmo_like(first, *, seed=0.0):
    return "".join(
        f"[step={step}/200] train/Loss={first - step / 100 + seed:.3f} optim/norm={step / 7:.3f}\n"
        for step in range(10, 210, 10)
    )


def test_what_wandb_kept_of_the_output_belongs_to_the_log_of_the_program(tmp_path):
    written(tmp_path / "model-1B" / "train.log", _olmo_like(11.0))
    output = "wandb: Syncing run\n" + _olmo_like(11.0)
    written(tmp_path / "model-1B" / "wandb" / "wandb" / "run-20251226_222106-7gqy82kd" / "files" / "output.log", output)
    assert list(pb.read(tmp_path)) == ["model-1B/train.log"]


def test_outputs_of_two_runs_that_wandb_kept_are_two_runs(tmp_path):
    for id in ("run-20251226_222106-7gqy82kd", "run-20251227_222106-8gqy82kd"):
        written(tmp_path / "wandb" / id / "files" / "output.log", _olmo_like(11.0))
    written(tmp_path / "train.log", _olmo_like(9.0))
    assert len(pb.read(tmp_path)) == 3


def test_a_wandb_run_outside_a_wandb_directory_is_compared_with_what_is_next_to_it(tmp_path):
    written(tmp_path / "outputs" / "logs" / "train.log", _olmo_like(11.0))
    written(tmp_path / "run-20251226_222106-7gqy82kd" / "files" / "output.log", _olmo_like(11.0))
    assert len(pb.read(tmp_path)) == 1
