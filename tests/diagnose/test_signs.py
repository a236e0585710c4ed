"""Signs that separate causes: for each, a curve that has it and its nearest neighbor that has not."""

import numpy as np
import pytest

from pulseboard.diagnose.facts.signs.sign import all_signs, signs_of


def noise(n, size=0.02, seed=0):
    return size * np.random.default_rng(seed).normal(size=n)


def falls(n=60, start=2.3, end=0.5, share=0.2, size=0.02):
    """An exponential fall with some noise."""
    return end + (start - end) * np.exp(-np.arange(n) / (share * n)) + noise(n, size)


def evaluated(train, val, every=10):
    """A training and its evaluations, as one case's curves."""
    return {"train/loss": train, "val/loss": (np.arange(len(val)) * every, val)}


def scores(loss, accuracy, val_loss=None, val_accuracy=None):
    curves = {"train/loss": loss, "train/accuracy": accuracy}
    if val_loss is not None:
        curves |= {"val/loss": val_loss, "val/accuracy": val_accuracy}
    return curves


STEADY = np.full(40, 1.0)
RISING = np.linspace(0.12, 0.7, 40)
JUMP = np.concatenate([falls(40), falls(20, 2.0, 1.8)])
SHAKEN = np.concatenate([falls(30), 0.5 + 1.2 * np.abs(np.sin(np.arange(10))), 1.5 + 0.2 * np.arange(20)])
# sign -> (curves that have it, curves that do not, settings)
CURVES = {
    "levels-off": ({"train/loss": falls(end=1.4, share=0.1)}, {"train/loss": np.linspace(2.3, 1.4, 60)}, {}),
    "stops-suddenly": (
        {"train/loss": np.concatenate([np.linspace(2.3, 1.5, 15), 1.5 + noise(45, 0.003)])},
        {"train/loss": falls(end=1.5, share=0.15, size=0.003)},
        {},
    ),
    "jump-from-calm": ({"train/loss": JUMP}, {"train/loss": SHAKEN}, {}),
    "smooth-loss": (
        evaluated(falls(size=0.0005), np.full(6, 2.3)),
        evaluated(falls(size=0.05), np.full(6, 2.3)),
        {},
    ),
    "part-gone": (
        {"train/loss": falls(start=90, end=60), "train/kl_loss": 0.001 + 0 * STEADY},
        {"train/loss": falls(start=90, end=60), "train/kl_loss": 8 * STEADY},
        {},
    ),
    "sure-and-wrong-first": (scores(falls(40, start=9.0), RISING), scores(falls(40, start=2.4), RISING), {}),
    "loss-beyond-accuracy": (scores(falls(40, 230, 90), RISING), scores(falls(40, 2.3, 0.9), RISING), {}),
    "val-sure-and-wrong": (
        scores(falls(40), RISING, np.linspace(2.3, 9, 40), 0.1 * STEADY),
        scores(falls(40), RISING, 2.3 * STEADY, 0.1 * STEADY),
        {},
    ),
    "only-training-scores": (
        scores(falls(40), RISING, 2.3 * STEADY, 0.1 + noise(40, 0.005)),
        scores(falls(40), RISING, falls(40), RISING),
        {},
    ),
    "val-scores-higher": (
        scores(falls(40), 0.8 * RISING, falls(40), RISING),
        scores(falls(40), RISING, falls(40), RISING),
        {},
    ),
    "val-follows": (
        evaluated(falls(), falls(6, share=0.3, size=0)),
        evaluated(falls(), 2.3 - 0.05 * np.arange(6)),
        {},
    ),
    "val-below": (
        evaluated(falls(end=1.5), 1.1 + 0 * np.arange(6.0)),
        evaluated(falls(end=1.5), 1.5 + 0 * np.arange(6.0)),
        {},
    ),
    "val-beyond-untrained": (
        evaluated(falls(end=0.8), np.array([2.4, 4.2, 4.6, 5.1, 5.2, 5.3])),
        evaluated(falls(end=0.8), np.array([2.2, 1.5, 1.4, 1.6, 2.2, 2.9])),
        {},
    ),
    "memorizes-evenly": (
        evaluated(np.linspace(2.3, 1.1, 60) + noise(60), np.linspace(2.3, 2.8, 6)),
        evaluated(falls(end=1.1), np.linspace(2.3, 2.8, 6)),
        {},
    ),
    "val-repeats-while-learning": (
        evaluated(falls(), np.array([2.2, 1.9, 1.9, 1.9, 1.9, 1.9])),
        evaluated(np.concatenate([falls(10), 0.5 + noise(50)]), np.array([2.2, 1.9, 1.9, 1.9, 1.9, 1.9])),
        {},
    ),
    "lr-ordinary": (
        {"train/loss": falls(), "lr": np.full(60, 1e-3)},
        {"train/loss": falls(), "lr": np.full(60, 1e-6)},
        {"optimizer": "adam"},
    ),
    "explores-for-ever": (
        {"charts/episodic_return": STEADY, "charts/epsilon": 0.99 * STEADY},
        {"charts/episodic_return": STEADY, "charts/epsilon": np.linspace(1, 0.05, 40)},
        {},
    ),
    "never-explores": (
        {"charts/episodic_return": STEADY, "charts/epsilon": 0 * STEADY},
        {"charts/episodic_return": STEADY, "charts/epsilon": np.linspace(1, 0.05, 40)},
        {},
    ),
    "policy-random": (
        {"rollout/ep_rew_mean": STEADY + noise(40), "train/entropy": np.log(3) * STEADY},
        {"rollout/ep_rew_mean": STEADY + noise(40), "train/entropy": np.linspace(np.log(3), 0.2, 40)},
        {},
    ),
    "return-only-falls": (
        {"return": np.concatenate([[-2.0, -2.1, -2.4], np.full(37, -3.0)])},
        {"return": np.linspace(-2, 4, 40)},
        {},
    ),
    "return-drops": (
        {"return": np.concatenate([np.linspace(-2, 4, 20), np.full(20, -3.0)])},
        {"return": np.linspace(-2, 4, 40)},
        {},
    ),
    "return-turns": (
        {"return": np.concatenate([np.linspace(-2, 4, 20), np.linspace(4, 0, 20)])},
        {"return": np.concatenate([np.linspace(-2, 4, 20), np.linspace(4, 3, 20)])},
        {},
    ),
    "critic-worsens": (
        {"return": STEADY + noise(40), "value_loss": np.linspace(1, 9, 40)},
        {"return": STEADY + noise(40), "value_loss": np.linspace(9, 1, 40)},
        {},
    ),
}


@pytest.mark.parametrize("name", CURVES)
def test_a_sign_is_there_in_one_curve_and_absent_from_its_neighbor(case, name):
    yes, no, config = CURVES[name]
    assert signs_of(case(yes, config=config)).get(f"sign:{name}") is True
    assert signs_of(case(no, config=config)).get(f"sign:{name}") is False


@pytest.mark.parametrize("name", CURVES)
def test_a_sign_is_unknown_where_nothing_shows_it(case, name):
    assert signs_of(case({"gpu/temperature": STEADY})).get(f"sign:{name}") is None


def test_memorized_examples_may_cost_more_than_guesses_once_training_is_solved(case):
    solved = signs_of(case(evaluated(falls(end=0.02, size=0.002), np.array([2.2, 2.9, 4.1, 4.6, 4.9, 5.2]))))
    assert solved["sign:val-beyond-untrained"] is False
    absurd = signs_of(case(evaluated(falls(end=0.02, size=0.002), np.array([4.2, 9.1, 14.7, 16.3, 18.2, 17.9]))))
    assert absurd["sign:val-beyond-untrained"] is True


def test_where_training_jumped_too_a_bad_validation_does_not_speak_of_the_evaluation(case):
    shaken = np.concatenate([falls(30, end=0.8), 1.9 + noise(30)])
    seen = signs_of(case(evaluated(shaken, np.array([2.2, 1.5, 1.3, 14.7, 15.3, 15.1]))))
    assert seen["sign:jumps"] is True
    assert "sign:val-beyond-untrained" not in seen


def test_a_first_evaluation_after_most_was_learned_does_not_say_whether_validation_learned(case):
    steps, values = np.arange(30, 60, 5), np.linspace(1.9, 3.2, 6)
    late = signs_of(case({"train/loss": falls(end=0.1, share=0.1), "val/loss": (steps, values)}))
    names = ("val-learned-first", "val-never-learned", "val-worse-at-once", "val-bad-at-first", "train-falls-val-not")
    assert not {f"sign:{name}" for name in names} & set(late)
    early = signs_of(case({"train/loss": falls(end=0.1, share=0.1), "val/loss": (steps - 30, values)}))
    assert early["sign:val-never-learned"] is True


def test_where_nothing_was_learned_a_lower_validation_loss_is_only_other_data(case):
    flat = signs_of(case(evaluated(4.7 + noise(60), 3.9 + 0 * np.arange(6.0))))
    assert "sign:val-below" not in flat


def test_a_nan_from_the_first_value_on_has_nothing_before_it(case):
    values = np.full(100, np.nan)
    assert "sign:calm-before-nan" not in signs_of(case({"train/loss": values}))


def test_a_nan_within_the_first_steps_is_not_calm(case):
    early, late = falls(100), falls(100)
    early[6:], late[60:] = np.nan, np.nan
    assert signs_of(case({"train/loss": early}))["sign:calm-before-nan"] is False
    assert signs_of(case({"train/loss": late}))["sign:calm-before-nan"] is True


def test_a_loss_that_grows_by_orders_of_magnitude_before_its_nan_is_not_calm(case):
    values = np.concatenate([falls(50), 0.5 * 10.0 ** np.arange(1, 6), np.full(10, np.nan)])
    assert signs_of(case({"train/loss": values}))["sign:calm-before-nan"] is False


def test_every_phrase_completes_the_sentence_that_something_is_so():
    for sign in all_signs().values():
        assert sign.phrase[0].islower(), sign.name
        assert not sign.phrase.endswith("."), sign.name


def test_few_returns_are_compared_without_reaching_before_the_first(case, recwarn):
    seen = signs_of(case({"return": np.array([0.0, 1, 2, 3, 4, 4, -50, -50, -50])}))
    assert seen["sign:return-drops"] is True
    assert not recwarn.list
