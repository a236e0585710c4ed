"""HellaSwag: which of four endings continues a text best, by the likelihood that a language model gives each.

The file has one JSON object per line, as published by rowanz/hellaswag: `ctx` (or `ctx_a` and `ctx_b`), four `endings`,
and `label`, the number of the correct one. Chance is 0.25.
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
    """The questions of a JSONL file; an invalid line raises an error that names it."""
    items = []
    with Path(file).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if limit is not None and len(items) == limit:
                break
            items.append(_item(line, where=f"line {number} of {file}"))
    if not items:
        raise ValueError(f"No HellaSwag questions in {file}")
    return items


def _item(line: str, *, where: str) -> Item:
    try:
        entry = json.loads(line)
        context = entry["ctx"] if "ctx" in entry else f"{entry['ctx_a']} {entry['ctx_b'].capitalize()}".strip()
        endings, label = tuple(map(str, entry["endings"])), int(entry["label"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"Not a HellaSwag question ({type(error).__name__}: {error}): {where}") from None
    if not 0 <= label < len(endings):
        raise ValueError(f"Label {label} is out of range for {len(endings)} endings: {where}")
    return Item(str(context), endings, label)


@torch.no_grad()
def ending_scores(
    logits_of: Callable[[torch.Tensor], torch.Tensor],
    context: list[int],
    endings: list[list[int]],
    *,
    block_size: int,
) -> list[float]:
    """The mean log-likelihood of the tokens of each ending after the context.

    The mean, not the sum, so that long endings are not penalized (acc_norm). If context and ending exceed `block_size`,
    the start of the context is cut off.
    """
    scores = []
    for ending in endings:
        tokens = torch.tensor((context + ending)[-(block_size + 1) :])
        kept = min(len(ending), len(tokens) - 1)  # the first token has no prediction
        logits = logits_of(tokens[None, :-1])[0, -kept:].float().cpu()
        log_likelihoods = functional.log_softmax(logits, dim=-1).gather(1, tokens[-kept:, None])
        scores.append(float(log_likelihoods.mean()))
    return scores


def hellaswag_accuracy(
    logits_of: Callable[[torch.Tensor], torch.Tensor],
    items: list[Item],
    encode: Callable[[str], list[int]],
    *,
    block_size: int,
) -> float:
    """The share of questions whose correct ending has the highest mean log-likelihood."""
    correct = 0
    for item in items:
        # The space belongs to the ending, and so do tokens that span it.
        endings = [encode(" " + ending) for ending in item.endings]
        scores = ending_scores(logits_of, encode(item.context), endings, block_size=block_size)
        correct += scores.index(max(scores)) == item.label
    return correct / len(items)
