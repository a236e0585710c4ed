import pytest

from pulseboard.diagnose.roles import possible_roles, read_roles, split_of_directory


@pytest.mark.parametrize(
    "tag",
    ["Loss/train", "train/loss", "train_loss", "train_loss_step", "train/loss/total", "loss", "trainLoss", "epoch_loss",
     "training loss", "loss_metrics/global_avg_loss", "eval/train_loss", "Loss", "train/nll"],
)  # fmt: skip
def test_a_training_loss_is_known_by_any_of_its_names(tag):
    assert possible_roles(tag) == ("train.loss",)


@pytest.mark.parametrize("tag", ["Loss/validation", "val_loss", "eval/loss", "Loss_val", "valid/loss", "test_loss"])
def test_a_validation_loss_is_known_by_any_of_its_names(tag):
    assert possible_roles(tag) == ("val.loss",)


@pytest.mark.parametrize(
    ("tag", "role"),
    [
        ("lr-AdamW", "lr"),
        ("train/learning_rate", "lr"),
        ("Learning_Rate/lr", "lr"),
        ("train/learning_rate/param_group_0", "lr"),
        ("Gradient/norm", "gradient.norm"),
        ("train/grad_norm", "gradient.norm"),
        ("train/gradient_flow/global_norm", "gradient.norm"),
        ("train/gradient/global_norm_after_clip", "gradient.norm_after"),
        ("train/total_param_norm", "parameter.norm"),
        ("train/update_ratio", "update.ratio"),
        ("train/loss/h1", "loss.levels"),
        ("train/loss/contribution_h2", "loss.contribution"),
        ("eval/faces/loss_quantile_0.3", "loss.quantiles"),
        ("train/collapse/level1_effective_rank", "collapse.rank"),
        ("moe/aux_loss", "moe.aux_loss"),
        ("moe/load_imbalance", "moe.imbalance"),
        ("rollout/ep_rew_mean", "rl.return"),
        ("Environment/Cumulative Reward", "rl.return"),
        ("Losses/Policy Loss", "rl.loss"),
        ("D/loss", "gan.loss"),
        ("training/gen_loss_total", "gan.loss"),
        ("Performance/step_time_ms", "time.step"),
        ("time_metrics/data_loading(s)", "time.data"),
        ("Evaluation/hellaswag_accuracy", "val.accuracy"),
        ("val_acc", "val.accuracy"),
    ],
)
def test_a_name_says_its_role(tag, role):
    assert role in possible_roles(tag)


@pytest.mark.parametrize(
    "tag",
    ["train/stability/loss_spike_ratio", "train/stability/loss_trend_slope", "RegLoss", "train/kl_loss",
     "train/learning_rate/avg_param_update", "Performance/tokens_per_sec", "amp/loss_scale", "step_avg"],
)  # fmt: skip
def test_what_only_looks_like_a_loss_or_rate_is_none(tag):
    assert not {"train.loss", "val.loss", "lr", "train.accuracy", "time.step"} & set(possible_roles(tag))


def test_the_finer_of_two_losses_counts():
    reading = read_roles({"train_loss_epoch": 10, "train_loss_step": 900})
    assert reading.first("train.loss") == "train_loss_step"


def test_losses_of_reinforcement_learning_need_not_fall():
    reading = read_roles({"rollout/ep_rew_mean": 100, "train/loss": 100})
    assert reading.first("train.loss") is None
    assert reading.first("rl.loss") == "train/loss"
    assert "not expected to fall" in reading.doubtful[0]


def test_losses_of_a_gan_need_not_fall():
    reading = read_roles({"G/loss": 100, "D/loss": 100, "train/loss": 100})
    assert reading.first("train.loss") is None


def test_a_loss_by_the_name_of_a_data_set_is_doubtful():
    reading = read_roles({"train/loss": 100, "coco/loss": 10, "faces/loss": 10})
    assert set(reading.tags["val.loss"]) == {"coco/loss", "faces/loss"}
    assert len(reading.doubtful) == 2


def test_a_user_overrides_a_reading():
    reading = read_roles({"train/loss": 100, "my/objective": 100}, given={"train.loss": "my/objective"})
    assert reading.first("train.loss") == "my/objective"


def test_norms_before_clipping_come_first():
    reading = read_roles({"Gradient/norm": 100, "train/gradient/global_norm_before_clip": 100})
    assert reading.first("gradient.norm") == "train/gradient/global_norm_before_clip"


@pytest.mark.parametrize(
    ("name", "split"),
    [("a/train", "train"), ("a/validation", "validation"), ("train_2", ""), ("b", ""), ("eval", "validation")],
)
def test_a_directory_may_say_the_split(name, split):
    assert split_of_directory(name) == split
