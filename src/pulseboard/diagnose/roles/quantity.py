"""Quantities: which loss, error or score a tag names, apart from its split."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pulseboard.diagnose.roles.words import FILLERS, TRAIN, VALIDATION, words_of

Kind = Literal["loss", "error", "score"]
Part = Literal["whole", "typed", "component", "auxiliary", "reinforcement", "adversarial"]

_LOSS = frozenset("loss losses recon reconstruction nll xent bce crossentropy logloss criterion elbo".split())
# The others say which loss it is: `bce` next to `loss` is a part of it, or another one.
_PLAIN = frozenset("loss losses criterion elbo".split())
_ERROR = frozenset("mse rmse mae mape error err perplexity ppl wer cer bpb bpc bpd fid eer".split())
_SCORE = frozenset(
    "acc accuracy f1 auc auroc roc iou miou iu meaniu dice map map50 map75 ap ap50 ap75 precision recall prec bleu"
    " rouge rouge1 rouge2 top1 top5 r2 exactmatch em"
    " hellaswag mmlu performance score psnr ssim ndcg mrr kappa mcc bas bacc"
    " specificity sensitivity meteor cider success".split()
)
# Words that say that a number is about a loss or a score, and not one itself.
_NOT_ITSELF = frozenset(
    "scale weight weights coef coeff coefficient ratio rate slope window spike trend gap min max best std variance var"
    " count num number alpha beta gamma threshold thresh quotient temperature epochs improvement freq power vs"
    " contribution quantile convergence stop scaler decay size lambda grad norm time sec seconds"
    " margin thr patience without early final cap relative unweighted values vals".split()
)
_WHOLE = frozenset("total overall sum all main full objective model combined loop".split())
_TYPES = frozenset(
    "cross entropy ce mse mae l1 l2 bce nll huber focal ctc smooth xent softmax token lm causal mlm seq2seq rmse"
    " categorical binary sparse supervised ema log crossentropy logloss".split()
)
_AUXILIARY = frozenset(
    "aux auxiliary z reg regularization regularizer kl kld vq commitment commit codebook entropy penalty smoothness"
    " consistency perceptual style tv balance balancing orthogonality sparsity router load".split()
)
_REINFORCEMENT = frozenset(
    "policy actor critic q qf qf1 qf2 td pi value v vf ppo sac dqn surrogate advantage mu player grpo".split()
)
_ADVERSARIAL = frozenset(
    "gan adversarial adv generator discriminator gen disc dis netg netd g d fake real cycle".split()
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a tag measures. Two tags with equal keys and different splits measure the same thing."""

    kind: Kind
    part: Part
    qualifiers: frozenset[str]  # what is left of the name: `box` of `train/box_loss`
    split: str

    @property
    def key(self) -> tuple[Kind, frozenset[str]]:
        """What is measured, whatever the split."""
        return self.kind, self.qualifiers - _WHOLE

    @property
    def maximized_by_name(self) -> bool:
        """Whether larger is better, by the name alone."""
        return self.kind == "score" or "elbo" in self.qualifiers


@lru_cache(maxsize=65536)
def quantity_of(tag: str) -> Quantity | None:
    """The quantity that a tag names; None for anything but losses, errors and scores."""
    words = words_of(tag)
    if words.is_bare_split:
        return Quantity("loss", "whole", frozenset(), words.split)  # unless its values say otherwise: losses.py
    left = [word for word in words.every if word not in TRAIN and word not in VALIDATION and word not in FILLERS]
    plain = _plain(left)
    # `error rate` is an error; any other rate of a loss or score is not one.
    about = plain & _NOT_ITSELF - ({"rate"} if plain & _ERROR else frozenset())
    if about or re.search(r"\bh\d+\b|\blevel ?\d|\bquantile\b", words.joined):
        return None
    # `cross_entropy` names a loss, `entropy` does not.
    is_cross_entropy = {"cross", "entropy"} <= plain
    if plain & _LOSS or is_cross_entropy:
        return Quantity("loss", _part(plain - _PLAIN), plain - _PLAIN | plain & {"elbo"}, words.split)
    if plain & _SCORE and not plain & {"gpu", "cpu", "memory", "tokens", "cost"}:
        if plain & _SCORE == {"performance"} and plain != {"performance"}:
            return None
        return Quantity("score", "whole", plain, words.split)
    if plain & _ERROR:
        return Quantity("error", "whole", plain - {"rate"}, words.split)
    return None


def _bare(word: str) -> str:
    """`loss0` and `rouge1` without a trailing digit, unless the word with it is known."""
    return word if word in _SCORE else word.rstrip("0123456789") or word


def _plain(words: list[str]) -> frozenset[str]:
    """The words without digits. `acc1`, `acc@1` and `acc` are the same; `acc5` and `acc@5` are another score."""
    joined = " ".join(words).replace("exact match", "exactmatch")
    joined = re.sub(r"\b(acc|accuracy|prec|precision|err|error) ?1\b", r"\1", joined)
    joined = re.sub(r"\b(acc|accuracy|prec|precision|err|error) ?(5|10)\b", r"\1 top5", joined)
    return frozenset(_bare(word) for word in joined.split())


def _part(rest: frozenset[str]) -> Part:
    rest = rest - _WHOLE
    if not rest:
        return "whole"
    if rest & _REINFORCEMENT:
        return "reinforcement"
    if rest & _ADVERSARIAL:
        return "adversarial"
    if rest <= _TYPES:
        return "typed"
    if rest & _AUXILIARY - {"entropy"} or ("entropy" in rest and "cross" not in rest):
        return "auxiliary"
    return "component"
