"""Regime: the kind of training, which decides what its curves may do in healthy runs."""

from __future__ import annotations

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.fact import Fact, fact
from pulseboard.diagnose.roles.quantity import quantity_of
from pulseboard.diagnose.roles.words import words_of

# A target network makes the targets, so the loss may rise while the model learns.
_MOVING = ("ema.momentum", "ema.distance", "collapse.std", "loss.relative")
_ADVERSARIAL_WORDS = frozenset({"adv", "adversarial", "domain", "gan", "discriminator", "disc"})


@fact("regime")
def regime(case: Case) -> Fact[frozenset[str]]:
    """Any of: reinforcement, adversarial, moving-target, variational, diffusion, experts, fine-tuning, scored."""
    roles = case.reading.tags
    found: dict[str, tuple[str, ...]] = {}
    if roles.get("rl.return") or roles.get("rl.loss"):
        found["reinforcement"] = (*roles.get("rl.return", ()), *roles.get("rl.loss", ()))[:1]
    if roles.get("gan.loss"):
        found["adversarial"] = roles["gan.loss"][:2]
    else:
        rivals = [tag for tag in roles.get("loss.components", ()) if words_of(tag).rest & _ADVERSARIAL_WORDS]
        rivals += [tag for tag in case.tracks if (q := quantity_of(tag)) is not None and q.part == "adversarial"]
        if rivals:
            found["adversarial"] = tuple(rivals[:2])
    moving = [tag for role in _MOVING for tag in roles.get(role, ())]
    if moving:
        found["moving-target"] = tuple(moving[:2])
    if roles.get("vae.kl") and "reinforcement" not in found:
        found["variational"] = roles["vae.kl"][:1]
    if roles.get("loss.quantiles"):
        found["diffusion"] = roles["loss.quantiles"][:1]
    if any(role.startswith("moe.") for role in roles):
        found["experts"] = ()
    if any(word in key.lower() for key in case.context.config for word in ("lora", "peft", "pretrained", "checkpoint")):
        found["fine-tuning"] = ()
    tags = tuple(dict.fromkeys(tag for some in found.values() for tag in some))
    return Fact(frozenset(found), 0.9, tags, "by the metrics that are logged")


def may_rise(case: Case) -> bool:
    """Whether the training loss may rise in healthy runs: networks compete, policies explore, targets move."""
    kinds = regime(case).value or frozenset()
    return bool(kinds & {"reinforcement", "adversarial", "moving-target"})
