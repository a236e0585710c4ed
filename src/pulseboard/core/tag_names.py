"""What the name of a tag says: whether lower or higher values are better, and whether it is about the machine."""

from __future__ import annotations

import re
from typing import Literal

# Words in a tag that mean "higher is better". Any other tag is assumed to be a loss, a time or a size.
_HIGHER_IS_BETTER = re.compile(
    r"(?<![a-z])(acc|accuracy|auc|auroc|f1|precision|recall|reward|return|score|iou|map|ndcg|mrr|bleu|rouge|psnr|ssim|"
    r"r2|mfu|throughput|tokens_per_sec|tps|samples_per_sec|win_rate|success_rate)(?![a-z])",
    re.IGNORECASE,
)
# Words of tags that say how good the model is, where lower is better.
_LOWER_IS_BETTER = re.compile(
    r"(?<![a-z])(loss|error|err|perplexity|ppl|nll|bpb|bpc|mse|rmse|mae|mape|wer|cer|fid|elbo)(?![a-z])", re.IGNORECASE
)
# Areas of tags that telemetry and instruments log about the machine.
_OF_MACHINE = re.compile(
    r"^(host|gpu\d*|memory|allocator|process|system|sol|rank|time|perf|pulseboard)/", re.IGNORECASE
)


def better_end(tag: str) -> Literal["min", "max"]:
    """Which end of a metric's range is the better one."""
    return "max" if _HIGHER_IS_BETTER.search(tag) else "min"


def says_how_good(tag: str) -> bool:
    """Whether a tag is a loss, an error or a score, judged by its name; a learning rate or a norm is not."""
    return bool(_LOWER_IS_BETTER.search(tag) or _HIGHER_IS_BETTER.search(tag))


def is_of_machine(tag: str) -> bool:
    """Whether a tag is about the machine rather than the model, judged by its name."""
    return bool(_OF_MACHINE.search(tag))
