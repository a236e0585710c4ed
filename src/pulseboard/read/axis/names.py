"""Names of columns that count a training: global steps, iterations within an epoch, and epochs."""

from __future__ import annotations

import re

# Lower case, without the part before the last slash. The first that a table has is used.
STEP_NAMES = (
    "global_step", "step", "_step", "steps", "train_step", "training_step", "cur_step", "current_step",
    "current_steps", "iter_num", "num_updates", "update", "updates", "num_update", "total_steps", "total_step",
    "total_timesteps", "timesteps", "timestep", "time_steps", "num_timesteps", "timesteps_total",
    "num_env_steps_sampled_lifetime", "num_env_steps_sampled", "totalenvinteracts", "total_env_interacts",
    "total_env_steps", "env_steps", "env_step",
    "timestepssofar", "total_num_steps", "frame", "frames", "total_frames", "training_iteration", "n_iter",
    "iteration", "iterations", "iter", "it", "iters", "tree", "round", "boosting_round", "epoch_step",
)  # fmt: skip
EPOCH_NAMES = ("epoch", "epochs", "ep", "epoch_num", "current_epoch", "epoch_idx", "epoch_id", "epoch_number")
WITHIN_EPOCH_NAMES = ("batch", "batch_idx", "batch_id", "mini_batch", "minibatch", "iter_in_epoch", "step_in_epoch")
# Count something of the training, but are steps only where nothing better is.
LAST_RESORT_NAMES = (
    "episode", "episodes", "episode_num", "num_episodes", "total_episodes", "generation", "gen", "n_gen", "tick",
    "trial", "game", "games",
)  # fmt: skip

# Counters with names of their own, such as `micro_step`, and then amounts of data. They are steps if they rise.
_STEP_LIKE = re.compile(r"(?:^|_)(?:steps?|iters?|iterations?|updates?)(?:_(?:num|idx|id))?$")
_NOT_THE_STEP = re.compile(r"(?:^|_)(?:best|last|first|max|min|warmup|per|val|eval|test|log|save|time|stop|skipped)_")
_AMOUNT_NAMES = (
    "tokens", "tokens_seen", "total_tokens", "num_tokens", "consumed_tokens", "train_tokens",
    "samples", "samples_seen", "total_samples", "num_samples", "consumed_samples",
    "examples", "examples_seen", "images_seen", "total_images", "kimg",
)  # fmt: skip
# The column of row numbers that pandas writes without a name.
_INDEX_NAMES = ("column_1", "unnamed:_0", "index")

TOTAL = " of"
"""A column `iter of` holds the total that a log prints after the count: `iter 40/1251`."""

_SPACES = re.compile(r"[\s\-]+")


def plain(name: str) -> str:
    """A column name reduced to what is compared: `Train/Global Step` becomes `global_step`."""
    return _SPACES.sub("_", name.strip().rpartition("/")[2].strip().lower())


def step_columns(names: list[str]) -> list[str]:
    """The columns that may hold global steps or iterations, best first."""
    return _in_order(names, STEP_NAMES + WITHIN_EPOCH_NAMES)


def whole_run_columns(names: list[str]) -> list[str]:
    """The columns that may hold steps of the whole run, best first."""
    return _in_order(names, STEP_NAMES)


def last_resort_columns(names: list[str]) -> list[str]:
    """The columns that count episodes, generations and the like, best first."""
    return _in_order(names, LAST_RESORT_NAMES)


def epoch_columns(names: list[str]) -> list[str]:
    """The columns that may hold epochs, best first."""
    return _in_order(names, EPOCH_NAMES)


def rising_step_columns(names: list[str]) -> list[str]:
    """The columns that count steps by their names, if they rise: `micro_step`, `opt_step`."""
    return [name for name in names if _STEP_LIKE.search(plain(name)) and not _NOT_THE_STEP.search(plain(name))]


def amount_columns(names: list[str]) -> list[str]:
    """The columns that say how much data was used or number the rows, if they rise, best first."""
    return _in_order(names, _AMOUNT_NAMES + _INDEX_NAMES)


def may_count(name: str) -> bool:
    """Whether a column is a counter if it rises."""
    return bool(rising_step_columns([name]) or amount_columns([name]))


def is_counter(name: str) -> bool:
    """Whether a column counts the training rather than measuring it."""
    return plain(name.removesuffix(TOTAL)) in _COUNTERS


def _in_order(names: list[str], wanted: tuple[str, ...]) -> list[str]:
    by_plain: dict[str, str] = {}
    for name in sorted(names, key=lambda name: name.count("/")):  # of several, that of the outermost object
        by_plain.setdefault(plain(name), name)
    return [by_plain[key] for want in wanted if (key := plain(want)) in by_plain]


_COUNTERS = frozenset(map(plain, STEP_NAMES + EPOCH_NAMES + WITHIN_EPOCH_NAMES + LAST_RESORT_NAMES))
