"""What policies earn: faults of reinforcement learning that its usual metrics show, and what must stay quiet."""

import numpy as np
import pytest

from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.facts.returns import episode_returns
from pulseboard.diagnose.facts.signs.sign import signs_of

RETURN = "rollout/ep_rew_mean"


def alarms(case, curves):
    return {f.slug for f in run_detectors(case(curves)).findings if f.severity != "info"}


def noisy(values, scale, seed=0):
    return np.asarray(values, float) + scale * np.random.default_rng(seed).normal(size=len(values))


X = np.linspace(0, 1, 60)


# ---- nothing was learned


def test_a_noisy_rise_that_is_not_yet_certain_is_not_flat(case):
    # Episodes between -200 and 0 that slowly get better: no test of 42 of them is sure, and nobody would call it flat.
    x = np.linspace(0, 1, 42)
    assert "return-flat" in alarms(case, {"episode/reward": noisy(np.full(42, -120.0), 60, seed=1)})
    assert not alarms(case, {"episode/reward": noisy(-150 + 110 * x, 60, seed=1)})


def test_returns_before_the_first_update_say_nothing_about_learning(case):
    waits = np.full(50, -200.0)
    assert "return-flat" in alarms(case, {RETURN: waits})
    curves = {RETURN: waits, "train/actor_loss": (np.arange(40, 50), noisy(np.full(10, 3.0), 0.1))}
    assert not alarms(case, curves)


def test_a_small_rise_does_not_count_if_the_critic_explains_nothing(case):
    curves = {RETURN: noisy(-10.6 + 0.7 * X, 0.45, seed=2), "train/explained_variance": noisy(-0.05 - 0.2 * X, 0.02)}
    assert "return-flat" in alarms(case, curves)
    curves["train/explained_variance"] = noisy(0.2 + 0.5 * X, 0.02)
    assert "return-flat" not in alarms(case, curves)


def test_a_policy_that_still_chooses_at_random_has_not_learned(case):
    slow = noisy(22 + 4 * X, 0.5)
    assert "return-flat" in alarms(case, {RETURN: slow, "train/entropy_loss": -np.log(2) + 0.004 * X})
    assert "return-flat" not in alarms(case, {RETURN: slow, "train/entropy_loss": -np.log(2) + 0.3 * X})
    # The entropy of a normal distribution may stay where it is.
    assert "return-flat" not in alarms(case, {RETURN: slow, "train/entropy_loss": np.full(60, -1.7)})


def test_a_few_returns_are_enough_if_the_policy_chooses_at_random_until_the_end(case):
    few = noisy(np.full(12, -1.8), 0.05)
    assert "return-flat" in alarms(case, {RETURN: few, "train/entropy": np.full(12, np.log(3))})
    assert not alarms(case, {RETURN: few, "train/entropy": np.log(3) - np.linspace(0, 0.4, 12)})
    assert not alarms(case, {RETURN: few + np.linspace(0, 2, 12), "train/entropy": np.full(12, np.log(3))})
    assert not alarms(case, {RETURN: few})


# ---- means over the last hundred episodes


def averaged(earned, lengths, *, every=4, window=100):
    """What stable-baselines3 logs after every few episodes."""
    at = np.arange(every, len(earned) + 1, every)
    mean = [earned[max(0, n - window) : n].mean() for n in at]
    length = [lengths[max(0, n - window) : n].mean() for n in at]
    steps = np.cumsum(lengths)[at - 1].astype(int)
    return steps, np.array(mean), np.array(length)


@pytest.mark.parametrize("episodes", [80, 320, 1600])
def test_a_mean_over_the_last_episodes_is_undone(case, episodes):
    rng = np.random.default_rng(episodes)
    earned, lengths = rng.normal(size=episodes), rng.integers(10, 200, episodes)
    steps, mean, length = averaged(earned, lengths)
    built = case({RETURN: (steps, mean), "rollout/ep_len_mean": (steps, length)})
    assert episode_returns(built, built.tracks[RETURN]).values == pytest.approx(earned.reshape(-1, 4).mean(1), abs=1e-4)
    alone = case({RETURN: (steps, mean)})
    assert episode_returns(alone, alone.tracks[RETURN]).values == pytest.approx(mean)


def test_a_mean_that_only_settles_is_flat(case):
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        steps, mean, length = averaged(rng.normal(size=60) * 300 - 600, np.full(60, 100), every=1)
        found += "return-flat" in alarms(case, {RETURN: (steps, mean), "rollout/ep_len_mean": (steps, length)})
    assert found >= 15


def test_a_policy_that_learned_late_is_not_flat_while_the_mean_lags_behind(case):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        better = np.where(np.arange(60) < 30, -1200, -200) + 150 * rng.normal(size=60)
        steps, mean, length = averaged(better, np.full(60, 100), every=1)
        assert not alarms(case, {RETURN: (steps, mean), "rollout/ep_len_mean": (steps, length)})


# ---- it was lost


def test_few_evaluations_far_below_all_before_are_a_collapse(case):
    assert alarms(case, {"eval/mean_reward": [-2600, -2000, -1200, -5800, -2600, -1000, -12000, -14000, -14400]}) == {
        "return-collapsed"
    }
    assert not alarms(case, {"eval/mean_reward": [-2600, -2000, -1200, -5800, -2600, -1000, -6000, -7000, -6500]})


def test_a_mean_over_episodes_that_repeats_itself_counts_once(case):
    # One episode takes most of the run: 137 points, and three different values.
    stale = np.repeat([3459.0, 4919.0, 3583.0], [90, 27, 20])
    assert not alarms(case, {RETURN: stale})
    assert "return-collapsed" in alarms(case, {RETURN: noisy(np.repeat([3459.0, 9919.0, 3583.0], [60, 40, 37]), 50)})


def test_a_return_that_only_falls_is_reported(case):
    assert "return-collapsed" in alarms(case, {RETURN: -np.exp(noisy(-2.8 + 1.6 * X, 0.1))})
    assert "return-collapsed" not in alarms(case, {RETURN: noisy(np.full(60, -0.1), 0.03)})


# ---- the critic


@pytest.mark.parametrize("tag", ["train/critic_loss", "losses/td_loss", "train/loss"])
def test_a_critic_whose_loss_grows_without_returns_has_diverged(case, tag):
    grown = np.exp(noisy(np.maximum(0, 12 * (X - 0.5)), 0.1))
    assert "value-diverged" in alarms(case, {RETURN: noisy(20 + 0 * X, 2), tag: grown})
    # The same loss, with returns that grow as much: it is off in proportion to what it predicts.
    assert "value-diverged" not in alarms(case, {RETURN: 20 * np.exp(6 * X), tag: grown})


def test_the_loss_of_a_policy_may_do_what_it_likes(case):
    grown = np.exp(noisy(12 * X, 0.1))
    assert not alarms(case, {RETURN: noisy(20 + 3 * X, 1), "train/policy_loss": grown})


def test_a_critic_that_expects_what_no_episode_earned_has_diverged(case):
    returns = noisy(np.full(60, 22.0), 4)
    assert "value-diverged" in alarms(case, {RETURN: returns, "losses/q_values": np.exp(8 * X)})
    assert "value-diverged" not in alarms(case, {RETURN: returns, "losses/q_values": 30 * X})


# ---- the policy


def test_updates_that_replace_the_policy_are_too_large(case):
    kl = np.full(30, 0.01)
    kl[[3, 11, 20, 21]] = [6.7, 2.0, 1.8, 3.1]
    flat = noisy(np.full(30, 20.0), 2)
    assert "policy-update-too-large" in alarms(case, {RETURN: flat, "train/approx_kl": kl})
    kl[[11, 20, 21]] = 0.02
    assert "policy-update-too-large" not in alarms(case, {RETURN: flat, "train/approx_kl": kl})


def test_large_updates_of_a_policy_that_earns_well_are_a_note(case):
    curves = {RETURN: noisy(20 + 400 * X, 5), "train/approx_kl": np.full(60, 0.3)}
    assert "policy-update-too-large" not in alarms(case, curves)
    assert "policy-update-too-large" in {f.slug for f in run_detectors(case(curves)).findings}


# ---- what separates causes


def test_a_critic_that_learns_alone_and_large_updates_are_signs(case):
    uniform = np.full(60, -np.log(2))
    learns, blind = noisy(0.6 * X, 0.02), noisy(0.0 * X, 0.02)
    curves = {RETURN: noisy(22 + X, 0.5), "train/entropy_loss": uniform, "train/explained_variance": learns}
    assert signs_of(case(curves))["sign:critic-learns-alone"] is True
    assert signs_of(case({**curves, "train/explained_variance": blind}))["sign:critic-learns-alone"] is False
    assert "sign:critic-learns-alone" not in signs_of(case({RETURN: X}))
    assert signs_of(case({RETURN: X, "train/approx_kl": np.full(60, 0.3)}))["sign:large-updates"] is True
    assert signs_of(case({RETURN: X, "train/approx_kl": np.full(60, 0.01)}))["sign:large-updates"] is False


def test_a_return_that_falls_as_exploration_ends_is_a_sign_of_a_policy_that_does_not_learn(case):
    epsilon = np.maximum(0.05, 1 - 2 * X)
    falls, rises = noisy(22 - 12 * np.minimum(1, 2 * X), 1), noisy(22 + 60 * X, 3)
    assert signs_of(case({RETURN: falls, "charts/epsilon": epsilon}))["sign:worse-without-exploration"] is True
    assert signs_of(case({RETURN: rises, "charts/epsilon": epsilon}))["sign:worse-without-exploration"] is False
    # The clipping range of some libraries has the same name, and exploration that never ends says nothing.
    assert "sign:worse-without-exploration" not in signs_of(case({RETURN: falls, "Policy/Epsilon": 0.2 - 0.1 * X}))
    assert "sign:worse-without-exploration" not in signs_of(case({RETURN: falls, "charts/epsilon": np.ones(60)}))


# ---- few points


def few(values):
    return np.arange(1, len(values) + 1) * 250, np.asarray(values)


def test_few_returns_that_go_down_all_the_way_are_a_collapse(case):
    falls = few([-1.18, -1.3, -1.53, -1.65, -1.72, -1.77, -1.8, -1.82, -1.84])
    assert "return-collapsed" in alarms(case, {RETURN: falls})
    lost = few([-1.1, -0.5, -0.2, 0.02, 0.1, 0.12, 0.05, 0.03, -0.1, -0.25, -0.4, -0.48])
    assert "return-collapsed" in alarms(case, {RETURN: lost})
    wanders = few([-1.1, -0.5, -0.2, 0.2, 0.5, 0.72, 0.75, 0.7, 0.66, 0.6, 0.62, 0.64])
    assert "return-collapsed" not in alarms(case, {RETURN: wanders})


def test_a_few_losses_of_a_critic_that_runs_away_are_enough(case):
    returns = few([-1.18, -1.1, -1.3, -1.2, -1.25, -1.3, -1.2, -1.3, -1.25])
    runs_away = few([0.018, 0.97, 6.3, 18, 38, 64, 86, 112, 141])
    wanders = few([0.02, 0.09, 0.3, 0.1, 0.6, 0.4, 0.9, 0.7, 1.2])
    assert "value-diverged" in alarms(case, {RETURN: returns, "train/loss": runs_away})
    assert "value-diverged" not in alarms(case, {RETURN: returns, "train/loss": wanders})
