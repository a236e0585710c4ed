"""Profiles: what holds for a run, which one is chosen, and writing one."""

from math import inf

import numpy as np
import pytest

from pulseboard.diagnose.detector import all_detectors, run_detectors
from pulseboard.diagnose.profile import BadProfile, Band, Expected, ProfileMetric, choose_profile, load_profile, shipped
from pulseboard.diagnose.roles.resolve import BY_NAME

# ---- what holds for a run


def ranges(found):
    return [f.metric for f in found if f.slug == "out-of-expected-range"]


def test_the_milestones_of_a_vocabulary_are_for_runs_with_about_that_vocabulary(case):
    loss = np.full(100, 6.0)  # far above 2.8, where GPT-2 ends

    def said(vocabulary):
        config = {"max_steps": 99, "vocab_size": vocabulary} if vocabulary else {"max_steps": 99}
        return ranges(run_detectors(case({"Loss/train": loss}, profile="gpt", config=config)).findings)

    assert said(50257) == ["Loss/train"]
    assert said(50304) == ["Loss/train"]  # padded to a multiple of 64
    assert said(65) == []
    assert said(None) == []


def test_ranges_of_an_embedding_are_scaled_to_the_runs_own(case):
    tag = "train/collapse/level0_effective_rank"
    curves = {tag: np.full(50, 40.0), "train/loss/total": np.linspace(1, 0.5, 50)}

    def said(**config):
        return ranges(run_detectors(case(curves, profile="hjepa", config=config)).findings)

    assert said(embed_dim=768) == [tag]  # of 768, 40 is a collapse
    assert said(embed_dim=48) == []  # of 48 it is healthy
    assert said() == []  # of nobody knows what it is nothing


def test_a_band_scales_with_the_embedding():
    metric = ProfileMetric("rank", dimension=768, bands=(Band("healthy", 500, inf),), stages=(Expected(1.0, 100, 300),))
    half = metric.fitted(choices=None, dimension=384)
    assert half.bands == (Band("healthy", 250, inf),)
    assert half.stages == (Expected(1.0, 50, 150),)
    unknown = metric.fitted(choices=None, dimension=None)
    assert (unknown.bands, unknown.stages) == ((), ())


# ---- choosing and writing profiles


@pytest.mark.parametrize(
    ("tags", "name"),
    [
        (["Loss/train", "Loss/validation", "Gradient/norm"], "gpt"),
        (["train/loss/h0", "train/loss/h1", "train/ema/momentum_current"], "hjepa"),
        (["train/loss", "train/epoch_loss", "eval/a/loss_quantile_0.1"], "diffusion"),
        (["train/loss", "moe/aux_loss", "moe/load_imbalance"], "moe"),
        (["train/loss", "val/loss"], "general"),
        ([], "general"),
    ],
)
def test_the_tags_choose_the_profile(tags, name):
    assert choose_profile(tags).name == name


def test_profiles_speak_of_findings_and_roles_that_exist():
    for name in shipped():
        profile = load_profile(name)
        slugs = {*profile.limits, *profile.severities, *(slug for one in profile.patterns for slug in one.when)}
        assert slugs <= set(all_detectors()), name
        assert {metric.role for metric in profile.metrics} - {""} <= set(BY_NAME), name
        assert len({metric.tag for metric in profile.metrics}) == len(profile.metrics), name


def test_a_profile_of_ones_own_builds_on_the_general_one(tmp_path):
    own = tmp_path / "mine.toml"
    own.write_text(
        'title = "Mine"\n[limits.loss-spike]\nrise = 0.5\n[severities]\nloss-plateau = "off"\n'
        '[roles]\n"train.loss" = "objective"\n[[metric]]\ntag = "objective"\nhealthy = [0, 2]\n'
    )
    profile = load_profile(str(own))
    assert profile.name == "mine"
    assert profile.limit("loss-spike", "rise") == 0.5
    assert profile.limit("loss-nan", "in_a_row") == load_profile("general").limit("loss-nan", "in_a_row")
    assert profile.roles == {"train.loss": "objective"}
    assert profile.metric("objective").bands == (Band("healthy", 0, 2),)


def test_a_profile_may_speak_of_another_packages_findings(tmp_path):
    own = tmp_path / "mine.toml"
    own.write_text('[limits.tokens-on-fire]\nshare = 0.5\n[severities]\ntokens-on-fire = "info"\n')
    assert load_profile(str(own)).limit("tokens-on-fire", "share") == 0.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits.loss-spike]\nrize = 2\n", ["loss-spike has no limit 'rize'", "it has least, noise, rise"]),
        ("[limits.los-spike]\nrise = 2\n", ["los-spike", "There is no finding", "loss-spike"]),
        ('[severities]\nloss-spike = "loud"\n', ["loss-spike", "'loud'", "off, info, warning, critical"]),
        ('[roles]\n"train.los" = "x"\n', ["There is no role 'train.los'", "train.loss"]),
        ("[[metric]]\nmeaning = 1\n", ["A metric needs a tag"]),
        ("name = \n", ["Not a TOML file", "line 1"]),
        ('[[metric]]\ntag = "a"\nhealthy = [1]\n', ["healthy of 'a'", "[low, high]"]),
        ("extend = 'gpt'\n", ["'extend'", "extends"]),
    ],
)
def test_a_mistake_in_a_profile_is_reported_with_what_to_write(tmp_path, text, words):
    own = tmp_path / "mine.toml"
    own.write_text(text)
    with pytest.raises(BadProfile) as error:
        load_profile(str(own))
    for word in [*words, str(own)]:
        assert word in str(error.value)
