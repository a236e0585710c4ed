"""Collapse, prediction, hierarchy and masking match their plain definitions."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from instruments import plain
from torch.utils._python_dispatch import TorchDispatchMode

from pulseboard.instruments.math.arrays import gram
from pulseboard.instruments.math.similarity import pairwise_similarity
from pulseboard.instruments.metrics import effective_rank as effective_rank_module
from pulseboard.instruments.metrics.collapse import collapse
from pulseboard.instruments.metrics.effective_rank import _scatter_of_bytes, effective_rank, exp_entropy_of_tensor
from pulseboard.instruments.metrics.hierarchy import hierarchy
from pulseboard.instruments.metrics.masking import masking
from pulseboard.instruments.metrics.prediction import prediction

FEATURES = arrays.arrays(
    np.float64,
    arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.floats(-8, 8, width=16).map(lambda x: round(x * 64) / 64),
)


def plain_collapse(x):
    stds = [np.std(x[:, j]) for j in range(x.shape[1])]
    cosines = plain.pair_cosines(x) or [np.nan]
    return {
        "train/collapse/level1_mean_std_per_dim": np.mean(stds),
        "train/collapse/level1_min_std_per_dim": np.min(stds),
        "train/collapse/level1_effective_rank": plain.effective_rank(x),
        "train/collapse/level1_mean_similarity": np.mean(cosines),
        "train/collapse/level1_max_similarity": np.max(cosines),
        "train/collapse/level1_std_similarity": np.std(cosines),
    }


def plain_prediction(p, t):
    cosines = [plain.cosine(a, b) for a, b in zip(p, t, strict=True)]

    def unit(a):
        return a / np.linalg.norm(a) if np.linalg.norm(a) > 0 else a

    squares = [(x - y) ** 2 for a, b in zip(p, t, strict=True) for x, y in zip(unit(a), unit(b), strict=True)]
    return {
        "val/prediction/level2_cosine_sim_mean": np.mean(cosines),
        "val/prediction/level2_cosine_sim_std": np.std(cosines),
        "val/prediction/level2_cosine_sim_min": np.min(cosines),
        "val/prediction/level2_cosine_sim_max": np.max(cosines),
        "val/prediction/level2_normalized_mse": np.mean(squares),
        "val/prediction/level2_l2_distance": np.mean([np.linalg.norm(a - b) for a, b in zip(p, t, strict=True)]),
    }


# ---- collapse


@settings(deadline=None, max_examples=60)
@given(FEATURES)
def test_collapse_matches_its_definition(x):
    want = plain_collapse(x)
    # The std is the root of a difference, which keeps only half of the digits.
    plain.assert_close(collapse(x, level=1), want, rtol=1e-6, atol=1e-6)
    found = collapse(torch.tensor(x, dtype=torch.float64), level=1)
    plain.assert_close(found, want, rtol=8.2e-3, atol=1e-6)
    plain.assert_close(collapse(torch.tensor(x, dtype=torch.float32), level=1), want, rtol=8.2e-3, atol=2e-3)


@pytest.mark.parametrize("shape", [(200, 30), (30, 200), (40, 40), (5, 7, 16)])
def test_collapse_of_random_features(shape):
    x = np.random.default_rng(0).normal(size=shape) * np.linspace(0.1, 2, shape[-1]) + 0.5
    want = plain_collapse(x.reshape(-1, shape[-1]))
    plain.assert_close(collapse(x, level=1), want)
    plain.assert_close(collapse(torch.tensor(x).float(), level=1), want, rtol=8.2e-3, atol=1e-5)
    half = torch.tensor(x).bfloat16()
    want = plain_collapse(half.double().numpy().reshape(-1, shape[-1]))
    plain.assert_close(collapse(half, level=1), want, rtol=8.2e-3, atol=1e-5)


def test_the_maximum_similarity_uses_a_sample_of_rows_and_the_others_use_all():
    x = np.random.default_rng(1).normal(size=(50, 6))
    cosines = plain.pair_cosines(x)
    found = pairwise_similarity(x, max_rows=10)
    np.testing.assert_allclose([found.mean, found.std], [np.mean(cosines), np.std(cosines)], rtol=1e-9)
    np.testing.assert_allclose(found.max, max(plain.pair_cosines(x[::5])), rtol=1e-9)


# ---- effective rank

SPECTRA = {
    "flat": np.ones(400),
    "falling": np.linspace(1, 0.01, 400),
    "power law": np.arange(1, 401.0) ** -1,
    "steep": np.arange(1, 401.0) ** -2,
    "exponential": np.exp(-np.arange(400) / 20),
    "ten": np.where(np.arange(400) < 10, 1.0, 0.0),
    "one": np.where(np.arange(400) < 1, 1.0, 0.0),
    "one large": np.where(np.arange(400) < 1, 50.0, 1.0),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("count", [1000, 250])
def test_effective_rank_of_tensors_is_within_one_percent(spectrum, count):
    random = np.random.default_rng(2)
    rotation, _ = np.linalg.qr(random.normal(size=(400, 400)))
    x = (random.normal(size=(count, 400)) * SPECTRA[spectrum]) @ rotation + 3.0
    want = plain.effective_rank(x)
    assert effective_rank(x) == pytest.approx(want, rel=1e-9)
    assert float(effective_rank(torch.tensor(x))) == pytest.approx(want, rel=8.2e-3)
    assert float(effective_rank(torch.tensor(x).float())) == pytest.approx(want, rel=9e-3)


@pytest.mark.parametrize("fit", effective_rank_module.FITS, ids=lambda fit: f"{len(fit.poles)} poles")
def test_each_fit_keeps_its_bound(fit):
    y = np.concatenate([[0.0], np.geomspace(1e-9, fit.largest, 50_000)])
    y_log_y = y * np.log(np.where(y > 0, y, 1))
    fitted = fit.constant + fit.linear * y + fit.square * y**2
    for pole, weight in zip(fit.poles, fit.weights, strict=True):
        fitted += weight * np.log1p(y / pole)
    allowed = fit.error[0] + fit.error[1] * y + fit.error[2] * y**2
    assert (np.abs(fitted - y_log_y) <= allowed).all()
    # The mean of y is 1, and the mean of its square at most `mean_square`.
    assert np.expm1(fit.error[0] + fit.error[1] + fit.error[2] * fit.mean_square) < 0.0082


def test_the_chosen_fit_covers_the_spectrum():
    def poles(*, mean_square, count):
        return len(effective_rank_module._fit_for(torch.tensor(mean_square * count), count).poles)

    assert poles(mean_square=1.2, count=768) == 2
    assert poles(mean_square=2.9, count=768) == 2
    assert poles(mean_square=2.9, count=4096) == 3  # one of them may be 109
    assert poles(mean_square=3.1, count=100) == 3
    assert poles(mean_square=65.0, count=100) == 4
    assert poles(mean_square=20.0, count=4096) == 4  # one of them may be 286
    # On a device, where reading the spectrum would wait, the fit for any spectrum is used.
    assert len(effective_rank_module._fit_for(torch.empty((), device="meta"), 768).poles) == 4


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 60),
    st.integers(2, 40),
    st.floats(0, 4),
    st.sampled_from(["power", "exponential", "steps", "spiked"]),
    st.floats(0, 30),
)
def test_effective_rank_of_any_spectrum_is_within_one_percent(seed, count, width, steepness, shape, shift):
    random = np.random.default_rng(seed)
    i = np.arange(width)
    scales = {
        "power": (i + 1.0) ** -steepness,
        "exponential": np.exp(-steepness * i / 4),
        "steps": 10.0 ** -np.floor(steepness * i / width * 2),
        "spiked": np.where(i == 0, 10**steepness, 1.0),
    }[shape]
    rotation, _ = np.linalg.qr(random.normal(size=(width, width)))
    x = (random.normal(size=(count, width)) * scales) @ rotation + shift
    want = plain.effective_rank(x)
    assert effective_rank(x) == pytest.approx(want, rel=1e-6)
    assert float(effective_rank(torch.tensor(x))) == pytest.approx(want, rel=0.0085)
    rounded = torch.tensor(x).float()
    want = plain.effective_rank(rounded.double().numpy())
    assert float(effective_rank(rounded)) == pytest.approx(want, rel=0.01)


@pytest.mark.parametrize(("count", "width"), [(900, 768), (500, 384), (384, 500), (800, 775)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_in_blocks_equal_the_whole_product(count, width, dtype):
    x = torch.randn(count, width, dtype=dtype, generator=torch.Generator().manual_seed(3))
    small = x if count >= width else x.T
    whole = small.double().T @ small.double()
    torch.testing.assert_close(gram(x).double(), whole, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("steepness", [0.0, 0.5, 1.5, 4.0])
@pytest.mark.parametrize("pieces", [0.0, 30.0])
def test_products_of_bytes_keep_the_rank_within_one_percent(steepness, pieces):
    generator = torch.Generator().manual_seed(5)
    rotation, _ = torch.linalg.qr(torch.randn(256, 256, generator=generator))
    x = torch.randn(2500, 256, generator=generator) * torch.arange(1.0, 257) ** -steepness @ rotation + 3
    x[:1100] += pieces  # the pieces have different means
    product = _scatter_of_bytes(x)
    centered = (x - x.mean(0)).double()
    assert torch.linalg.norm(product - centered.T @ centered) < 0.01 * torch.linalg.norm(centered.T @ centered)
    assert float(exp_entropy_of_tensor(product)) == pytest.approx(plain.effective_rank(x.double().numpy()), rel=0.01)


def test_products_of_bytes_are_not_used_if_rounding_would_matter():
    x = torch.randn(2048, 256, generator=torch.Generator().manual_seed(5))
    assert _scatter_of_bytes(x) is not None
    x[7] *= 1000
    assert _scatter_of_bytes(x) is None
    assert float(effective_rank(x)) == pytest.approx(plain.effective_rank(x.double().numpy()), rel=0.01)


def test_products_of_bytes_of_constant_and_broken_features():
    assert float(exp_entropy_of_tensor(_scatter_of_bytes(torch.full((2048, 256), 0.1)))) == 0
    x = torch.randn(2048, 256, generator=torch.Generator().manual_seed(5))
    for bad_value in (torch.nan, torch.inf):
        x[3, 5] = bad_value
        assert torch.isnan(effective_rank(x))


class Operations(TorchDispatchMode):
    """Records the names of all torch operations."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


# Counted, not timed: benchmarks measure the time, and a test must pass on a busy machine.
@pytest.mark.parametrize(("steepness", "factors"), [(0.0, 2), (0.5, 3), (1.5, 4)])
def test_effective_rank_needs_a_few_cholesky_factors_and_no_eigenvalues(steepness, factors):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2048, 256, generator=generator) * torch.arange(1.0, 257) ** -steepness
    with Operations() as operations:
        effective_rank(x)
    assert sum("cholesky" in name for name in operations.names) == factors
    assert not [name for name in operations.names if "svd" in name or "eig" in name]


def test_k_equal_directions_have_rank_k():
    x = np.concatenate([np.eye(5), -np.eye(5)])
    assert effective_rank(x) == pytest.approx(5)
    assert float(effective_rank(torch.tensor(x))) == pytest.approx(5, rel=8.2e-3)


@settings(deadline=None, max_examples=40)
@given(FEATURES, st.sampled_from([0.25, 2.0, 1024.0]))
def test_effective_rank_ignores_scale_and_offset(x, scale):
    assert effective_rank(x * scale + 4) == pytest.approx(effective_rank(x), rel=1e-6, abs=1e-6)
    assert 0 <= effective_rank(x) <= min(x.shape) + 1e-9


# ---- prediction


@settings(deadline=None, max_examples=60)
@given(FEATURES, st.integers(0, 2**32 - 1))
def test_prediction_matches_its_definition(p, seed):
    t = np.random.default_rng(seed).normal(size=p.shape)
    want = plain_prediction(p, t)
    plain.assert_close(prediction(p, t, level=2, prefix="val"), want)
    found = prediction(torch.tensor(p).float(), torch.tensor(t).float(), level=2, prefix="val")
    plain.assert_close(found, want, rtol=1e-4, atol=1e-5)


def test_a_perfect_prediction_has_cosine_one_and_no_distance():
    x = np.random.default_rng(0).normal(size=(3, 5, 8))
    found = prediction(x, x, level=0)
    assert found["train/prediction/level0_cosine_sim_min"] == pytest.approx(1)
    assert found["train/prediction/level0_l2_distance"] == 0


def test_a_target_of_another_kind_is_converted():
    x = np.random.default_rng(0).normal(size=(5, 8))
    found = prediction(torch.tensor(x).bfloat16(), x, level=0)
    assert float(found["train/prediction/level0_cosine_sim_mean"]) == pytest.approx(1, abs=1e-4)


# ---- hierarchy, masking


@settings(deadline=None, max_examples=40)
@given(FEATURES)
def test_hierarchy_matches_its_definition(x):
    want = {
        "train/hierarchy/level0_feat_mean": np.mean(x),
        "train/hierarchy/level0_feat_std": np.std(x),
        "train/hierarchy/level0_feat_range": np.max(x) - np.min(x),
        "train/hierarchy/level0_feat_norm": np.mean([np.sqrt(sum(v * v for v in row)) for row in x]),
        "train/hierarchy/level0_num_patches": x.shape[0],
    }
    plain.assert_close(hierarchy(x, level=0), want)
    plain.assert_close(hierarchy(torch.tensor(x).float(), level=0), want, atol=1e-5)


def test_patches_are_counted_per_sample():
    assert hierarchy(np.ones((2, 49, 8)), level=2)["train/hierarchy/level2_num_patches"] == 49


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32])
def test_masked_patches_are_counted(kind, dtype):
    mask = np.array([[1, 0, 0, 1], [1, 1, 1, 0]]).astype(dtype)
    found = plain.as_floats(masking(kind(mask)))
    assert found == {
        "train/masking/mask_ratio": 0.625,
        "train/masking/num_masked_patches": 2.5,
        "train/masking/num_unmasked_patches": 1.5,
    }
    assert plain.as_floats(masking(kind(mask[0])))["train/masking/num_masked_patches"] == 2
    assert plain.as_floats(masking(kind(mask.reshape(2, 2, 2))))["train/masking/num_masked_patches"] == 2.5


# ---- hard inputs


MEASURES = {
    "collapse": lambda x: collapse(x, level=0),
    "prediction": lambda x: prediction(x, x, level=0),
    "hierarchy": lambda x: hierarchy(x, level=0),
    "masking": masking,
}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", plain.KINDS)
@pytest.mark.parametrize("hard", plain.HARD)
def test_hard_inputs_give_numbers_and_never_raise(measure, kind, hard):
    given = plain.KINDS[kind](plain.HARD[hard])
    found = MEASURES[measure](given)
    for tag, value in found.items():
        if isinstance(given, torch.Tensor):
            assert isinstance(value, torch.Tensor | int), tag
            assert not getattr(value, "requires_grad", False), tag
        else:
            assert isinstance(value, float | int), tag
        float(value)


@pytest.mark.parametrize("kind", plain.KINDS)
def test_degenerate_features_give_the_documented_values(kind):
    def levels(hard):
        found = collapse(plain.KINDS[kind](plain.HARD[hard]), level=0)
        return {tag.partition("level0_")[2]: float(value) for tag, value in found.items()}

    for hard in ("zeros", "constant"):
        assert levels(hard)["effective_rank"] == 0
        assert levels(hard)["mean_std_per_dim"] == 0
    assert levels("zeros")["mean_similarity"] == 0
    assert levels("constant")["mean_similarity"] == pytest.approx(1, abs=1e-6)
    assert levels("constant")["std_similarity"] == pytest.approx(0, abs=1e-6)
    assert levels("rank one")["effective_rank"] == pytest.approx(1, abs=1e-2)
    assert levels("one row")["effective_rank"] == 0
    assert np.isnan(levels("one row")["mean_similarity"])
    assert np.isnan(levels("no rows")["mean_std_per_dim"])
    for hard in ("a NaN", "an infinity"):
        assert np.isnan(levels(hard)["effective_rank"])
        assert np.isnan(levels(hard)["mean_similarity"])
