"""Words: a tag broken into words, and the data split that it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

TRAIN = frozenset({"train", "training", "trn", "tr", "learn"})
VALIDATION = frozenset(
    "val valid validation eval evaluation dev test testing tst holdout heldout validate evaluate".split()
)
# How and over what an average was taken is not part of what was averaged.
FILLERS = frozenset(
    "avg average mean running global current cur raw smoothed metrics metric step epoch iter iteration batch per"
    " log logs scalar scalars stats result results summary csv json txt".split()
)


@dataclass(frozen=True, slots=True)
class Words:
    """A tag in words."""

    tag: str
    every: tuple[str, ...]  # lower case, in order
    split: str  # "train", "validation" or ""
    rest: frozenset[str]  # without split and fillers

    @property
    def is_bare_split(self) -> bool:
        """Whether the tag is nothing but the name of a split: `train: 1090.2 | val: 1078.7`."""
        return len(self.every) == 1 and bool(self.split)

    @property
    def joined(self) -> str:
        """The words with single spaces between."""
        return " ".join(self.every)


@lru_cache(maxsize=65536)
def words_of(tag: str) -> Words:
    """A tag broken at punctuation and at capitals: `Loss/train`, `train_loss` and `trainLoss` have the same words."""
    # `mAP` and `BLEU` are words; `trainLoss` and `LossQ` are two.
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z][a-z])(?=[A-Z])", " ", tag)
    # Keras splits `MeanIoU` into `mean_io_u`.
    joined = re.sub(r"(?<![a-z0-9])io_u(?![a-z0-9])", "iou", spaced.lower())
    every = tuple(word for word in re.split(r"[^a-z0-9%]+", joined) if word)
    # `eval/train_loss` is the training split at evaluation: the word next to the quantity counts.
    split = ""
    for word in every:
        if word in TRAIN:
            split = "train"
        elif word in VALIDATION or (word[-1].isdigit() and word.rstrip("0123456789") in VALIDATION):
            split = "validation"
    return Words(tag, every, split, frozenset(every) - TRAIN - VALIDATION - FILLERS)


def split_of_directory(name: str) -> str:
    """'train' or 'validation' if a run's last directory says so, as Keras and others write them; else ''."""
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1].lower()
    words = [word for word in re.split(r"[^a-z0-9]+", last) if word]
    if len(words) != 1:
        return ""
    return "train" if words[0] in TRAIN else "validation" if words[0] in VALIDATION else ""
