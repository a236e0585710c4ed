import pytest

from pulseboard.diagnose.roles.resolve import possible_roles, read_roles
from pulseboard.diagnose.roles.shape import Shape
from pulseboard.diagnose.roles.words import split_of_directory


@pytest.mark.parametrize(
    "tag",
    ["Loss/train", "train/loss", "train_loss", "train_loss_step", "train/loss/total", "loss", "trainLoss", "epoch_loss",
     "training loss", "loss_metrics/global_avg_loss", "eval/train_loss", "Loss"],
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
    reading = read_roles({"train_loss_epoch": Shape(10), "train_loss_step": Shape(900)})
    assert reading.first("train.loss") == "train_loss_step"


def test_losses_of_reinforcement_learning_need_not_fall():
    reading = read_roles({"rollout/ep_rew_mean": Shape(100), "train/loss": Shape(100)})
    assert reading.first("train.loss") is None
    assert reading.first("rl.loss") == "train/loss"
    assert "not expected to fall" in reading.doubtful[0]


def test_losses_of_a_gan_need_not_fall():
    reading = read_roles({"G/loss": Shape(100), "D/loss": Shape(100), "train/loss": Shape(100)})
    assert reading.first("train.loss") is None


def test_a_loss_by_the_name_of_a_data_set_is_doubtful():
    reading = read_roles({"train/loss": Shape(100), "coco/loss": Shape(10), "faces/loss": Shape(10)})
    assert set(reading.tags["val.loss"]) == {"coco/loss", "faces/loss"}
    assert len(reading.doubtful) == 2


def test_a_user_overrides_a_reading():
    reading = read_roles({"train/loss": Shape(100), "my/objective": Shape(100)}, given={"train.loss": "my/objective"})
    assert reading.first("train.loss") == "my/objective"


def test_norms_before_clipping_come_first():
    reading = read_roles({"Gradient/norm": Shape(100), "train/gradient/global_norm_before_clip": Shape(100)})
    assert reading.first("gradient.norm") == "train/gradient/global_norm_before_clip"


@pytest.mark.parametrize(
    ("name", "split"),
    [("a/train", "train"), ("a/validation", "validation"), ("train_2", ""), ("b", ""), ("eval", "validation")],
)
def test_a_directory_may_say_the_split(name, split):
    assert split_of_directory(name) == split


# ---- values dispose


def shape(**known):
    return Shape(**{"count": 50, "known": True, "high": 1.0, "first": 0.5, "last": 0.5, **known})


def test_a_counter_is_not_a_learning_rate_whatever_its_name():
    counter = shape(high=50.0, is_whole=True, is_rising=True)
    reading = read_roles({"learning_rate": shape(high=1e-3), "lr_step": counter})
    assert reading.tags["lr"] == ("learning_rate",)
    assert "counts up" in reading.doubtful[0]
    assert "lr_step" in reading.unread


def test_a_rate_that_jumps_at_random_is_not_a_learning_rate():
    assert read_roles({"lr": shape(jumps_about=True)}).first("lr") is None


def test_zeros_of_activations_are_not_zeros_of_gradients():
    assert "gradient.zero_share" not in possible_roles("relu/zero frac")
    assert "gradient.zero_share" in possible_roles("train/gradient_flow/zero_share")


def test_an_objective_that_rises_as_the_model_learns_is_maximized():
    reading = read_roles({"train_elbo": shape(low=-9.0, high=-1.0, first=-9.0, last=-1.0)})
    assert reading.maximized == {"train_elbo"}
    falls = read_roles({"train_elbo": shape(first=9.0, last=1.0, high=9.0)})
    assert falls.maximized == frozenset()


# ---- losses that are parts


YOLO = {
    tag: Shape(30) for tag in ("train/box_loss", "train/cls_loss", "val/box_loss", "val/cls_loss", "metrics/mAP50(B)")
}


def test_parts_of_a_loss_are_parts_and_none_of_them_is_the_loss():
    reading = read_roles(YOLO)
    assert reading.first("train.loss") is None
    assert set(reading.tags["loss.components"]) == {"train/box_loss", "train/cls_loss"}


def test_only_the_same_quantity_is_compared_across_splits():
    assert read_roles(YOLO).twins == {"val/box_loss": "train/box_loss", "val/cls_loss": "train/cls_loss"}


def test_a_total_comes_before_its_parts():
    reading = read_roles({tag: Shape(30) for tag in ("total_loss", "loss_cls", "loss_box")})
    assert reading.tags["train.loss"] == ("total_loss",)
    assert set(reading.tags["loss.components"]) == {"loss_cls", "loss_box"}


def test_a_score_without_a_split_that_comes_with_the_evaluations_is_a_validation_score():
    reading = read_roles({"train/loss": Shape(900), "val/loss": Shape(30), "mAP50": Shape(30)})
    assert reading.tags["val.accuracy"] == ("mAP50",)


def test_settings_that_were_printed_are_not_losses():
    reading = read_roles({"train/loss": Shape(100), "FOCAL_LOSS_GAMMA": Shape(1)})
    assert reading.tags["train.loss"] == ("train/loss",)


@pytest.mark.parametrize("tags", [("pi_loss", "v_loss"), ("train/loss", "train/approx_kl"), ("grpo_loss",)])
def test_losses_of_policies_are_known_without_a_return(tags):
    assert read_roles({tag: Shape(50) for tag in tags}).first("train.loss") is None


def test_every_tag_is_read_or_listed_as_unread():
    reading = read_roles({"train/loss": Shape(10), "lambda_adv": Shape(10)})
    assert [(one.tag, one.role) for one in reading.readings] == [("train/loss", "train.loss")]
    assert reading.unread == ("lambda_adv",)


def falling(first, last):
    return Shape(20, known=True, low=min(first, last), high=max(first, last), first=first, last=last)


def test_a_loss_of_one_type_next_to_the_loss_is_not_the_loss():
    shapes = dict.fromkeys(("bce", "loss", "val_bce", "val_loss"), falling(1.0, 0.4))
    reading = read_roles(shapes)
    assert reading.tags["train.loss"] == ("loss",)
    assert reading.twins == {"val_loss": "loss"} | ({"val_bce": "bce"} if "val_bce" in reading.twins else {})
    assert read_roles({"train/bce": falling(1.0, 0.4)}).first("train.loss") == "train/bce"


def test_an_overlap_that_falls_with_the_loss_is_a_part_of_it():
    shapes = {"loss": falling(1.4, 0.5), "dice": falling(0.7, 0.2), "val_dice": falling(0.7, 0.7)}
    assert "train.accuracy" not in read_roles(shapes).tags
    assert "val.accuracy" not in read_roles(shapes).tags
    rising = {**shapes, "dice": falling(0.3, 0.8), "val_dice": falling(0.3, 0.8)}
    assert read_roles(rising).tags["train.accuracy"] == ("dice",)


def test_an_overlap_under_the_name_that_keras_gives_it_is_a_score():
    assert possible_roles("val_mean_io_u") == ("val.accuracy",)


# ---- a name that is only a split


def moving(first, last, *, count=50):
    return Shape(count, known=True, low=min(first, last), high=max(first, last), first=first, last=last)


def test_tags_named_only_after_their_split_are_losses_if_they_fall():
    reading = read_roles({"train": moving(1090.0, -50.0), "val": moving(1078.0, -56.0), "lr": moving(1e-4, 1e-5)})
    assert (reading.first("train.loss"), reading.tags["val.loss"]) == ("train", ("val",))
    assert reading.twins == {"val": "train"}


def test_tags_named_only_after_their_split_are_scores_if_they_rise():
    reading = read_roles({"train": moving(0.2, 0.9), "test": moving(0.2, 0.8)})
    assert (reading.first("train.accuracy"), reading.first("val.accuracy")) == ("train", "test")
    assert reading.first("train.loss") is None


@pytest.mark.parametrize(
    "tags",
    [
        {"train": moving(5.0, 1.0)},
        {"train": moving(5.0, 1.0), "val": moving(900.0, 800.0)},  # something else
        {"train": moving(500.0, 900.0), "val": moving(500.0, 900.0)},
    ],
)
def test_such_tags_have_no_role_if_their_values_do_not_tell(tags):
    reading = read_roles(tags)
    assert reading.first("train.loss") is None
    assert reading.first("val.loss") is None
    assert set(reading.unread) == set(tags)


def test_such_tags_have_no_role_next_to_a_loss():
    reading = read_roles({"train": moving(5.0, 1.0), "val": moving(5.0, 1.0), "train/loss": moving(5.0, 1.0)})
    assert (reading.first("train.loss"), reading.first("val.loss")) == ("train/loss", None)


# ---- times


@pytest.mark.parametrize(
    ("tag", "role"),
    [
        ("sec_per_step", "time.step"),
        ("ms_per_iter", "time.step"),
        ("duration_min", "time.interval"),
        ("seconds", "time.interval"),
        ("time", "time.interval"),
        ("minutes_per_epoch", "time.interval"),
        ("src_tok/s", "throughput"),
        ("train/bpd", "train.error"),
    ],
)
def test_a_time_or_a_rate_is_known_by_its_unit(tag, role):
    assert role in possible_roles(tag)


def test_a_time_since_the_start_is_not_that_of_an_epoch():
    shapes = {"seconds": Shape(50, known=True, low=1.0, high=500.0, first=6.0, last=490.0, mostly_rises=True)}
    assert read_roles(shapes).first("time.interval") is None
