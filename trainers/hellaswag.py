"""HellaSwag: which of four endings continues a text best, told by the likelihood that a language model gives each.

The file has one JSON object a line, as rowanz/hellaswag publishes it: `ctx` (or `ctx_a` and `ctx_b`), `endings`, four
of them, and `label`, the number of the right one. Chance is 0.25.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional


@dataclass(frozen=True)
class Item:
    """One question."""

    context: str
    endings: tuple[str, ...]
    label: int


def load_hellaswag(file: str, *, limit: int | None = None) -> list[Item]:
    """The questions of a JSONL file; a line that is none is an error that names it."""
    items = []
    with Path(file).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if limit is not None and len(items) == limit:
                break
            items.append(_item(line, where=f"line {number} of {file}"))
    if not items:
        raise ValueError(f"There is no HellaSwag question in {file}")
    return items


def _item(line: str, *, where: str) -> Item:
    try:
        told = json.loads(line)
        context = told["ctx"] if "ctx" in told else f"{told['ctx_a']} {told['ctx_b'].capitalize()}".strip()
        endings, label = tuple(map(str, told["endings"])), int(told["label"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"This is no HellaSwag question ({type(error).__name__}: {error}): {where}") from None
    if not 0 <= label < len(endings):
        raise ValueError(f"The label {label} names none of {len(endings)} endings: {where}")
    return Item(str(context), endings, label)


@torch.no_grad()
def ending_scores(
    logits_of: Callable[[torch.Tensor], torch.Tensor],
    context: list[int],
    endings: list[list[int]],
    *,
    block_size: int,
) -> list[float]:
    """The mean log-likelihood of an ending's tokens after the context, for each ending.

    The mean, not the sum: a long ending shall not lose for its length (acc_norm). Where context and ending exceed
    `block_size`, the context loses its beginning.
    """
    scores = []
    for ending in endings:
        tokens = torch.tensor((context + ending)[-(block_size + 1) :])
        kept = min(len(ending), len(tokens) - 1)  # tokens that have one before them
        logits = logits_of(tokens[None, :-1])[0, -kept:].float().cpu()
        each = functional.log_softmax(logits, dim=-1).gather(1, tokens[-kept:, None])
        scores.append(float(each.mean()))
    return scores


def hellaswag_accuracy(
    logits_of: Callable[[torch.Tensor], torch.Tensor],
    items: list[Item],
    encode: Callable[[str], list[int]],
    *,
    block_size: int,
) -> float:
    """The share of questions whose right ending has the highest mean log-likelihood."""
    right = 0
    for item in items:
        # The space belongs to the ending: tokens that span it are the ending's.
        endings = [encode(" " + ending) for ending in item.endings]
        scores = ending_scores(logits_of, encode(item.context), endings, block_size=block_size)
        right += scores.index(max(scores)) == item.label
    return right / len(items)
