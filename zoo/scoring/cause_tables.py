"""Tables about causes: how often the first is right, what is confused with what, and what a probability is worth."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from zoo.scoring.cause_weights import (
    WEIGHTS,
    Answer,
    answer,
    answers,
    as_toml,
    earlier_weights,
    learn,
    samples_of_foreign,
    samples_of_own,
)
from zoo.scoring.published_samples import samples_of_published

# A reliability table has a row for probabilities below each of these.
BINS = (0.3, 0.5, 0.7, 0.85, 1.01)
# Pairs of causes that are confused less often are not listed.
LEAST_CONFUSED = 2


def tables(found: Sequence[Answer], unlearned: Sequence[Answer]) -> str:
    """Everything about the first cause with the base left out of the learning."""
    parts = [
        by(found, "base left out", lambda one: one.sample.base),
        by(found, "logged as", lambda one: one.sample.logged),
        by(found, "what was done", lambda one: one.sample.causes[0]),
        confusions(found),
        reliability(found),
        f"Log score (mean of the natural logarithm of the probability of the truth): {log_score(found):.2f}.",
        f"With what people wrote down alone: {share(unlearned)}; log score {log_score(unlearned):.2f}.",
    ]
    return "\n\n".join(parts)


def by(found: Iterable[Answer], title: str, key: Callable[[Answer], str]) -> str:
    """How often the first cause is right, by some property of the training."""
    groups: dict[str, list[Answer]] = defaultdict(list)
    for one in found:
        groups[key(one)].append(one)
        groups["all"].append(one)
    everything = groups.pop("all", [])
    lines = [f"| {title} | right cause first, of all faulty | of found |", "| --- | --- | --- |"]
    for name, group in [*sorted(groups.items()), ("all", everything)]:
        lines.append(f"| {name} | {share(group)} | {share([one for one in group if one.sample.found])} |")
    return "\n".join(lines)


def share(group: Sequence[Answer]) -> str:
    """ "63 % (32 of 51)"."""
    right = sum(one.right for one in group)
    return f"{100 * right / len(group):.0f} % ({right} of {len(group)})" if group else "none"


def confusions(found: Iterable[Answer]) -> str:
    """What was named instead of what was done."""
    pairs = Counter((one.sample.causes[0], one.first or "nothing") for one in found if not one.right)
    lines = ["| what was done | first cause | trainings |", "| --- | --- | ---: |"]
    lines += [f"| {done} | {first} | {n} |" for (done, first), n in pairs.most_common() if n >= LEAST_CONFUSED]
    return "\n".join(lines)


def reliability(found: Sequence[Answer]) -> str:
    """How often the first cause, or one that curves cannot tell from it, is right at each probability."""
    lines = ["| stated probability | trainings | mean stated | right |", "| --- | ---: | ---: | ---: |"]
    low = 0.0
    for high in BINS:
        group = [one for one in found if low <= one.probability < high]
        if group:
            stated = sum(one.probability for one in group) / len(group)
            right = sum(bool({*one.family} & {*one.sample.causes}) for one in group) / len(group)
            bounds = f"{100 * low:.0f} to {100 * min(1.0, high):.0f} %"
            lines.append(f"| {bounds} | {len(group)} | {100 * stated:.0f} % | {100 * right:.0f} % |")
        low = high
    return "\n".join(lines)


def log_score(found: Sequence[Answer]) -> float:
    """The mean logarithm of the probability that was given to the truth."""
    return sum(math.log(max(1e-4, one.given_to_truth)) for one in found) / max(1, len(found))


def learn_and_write(own: Path, foreign: Path, small: Path) -> str:
    """Learn from everything that may be used for tuning, write weights.toml, and return the score."""
    samples = [*samples_of_own(own), *samples_of_foreign(foreign), *samples_of_foreign(small, is_new=True)]
    if samples:
        samples += samples_of_published()
    else:
        return f"No trainings in {own}, {foreign} or {small}. Build them first: python -m zoo build"
    text = tables(answers(samples), [answer(sample, {}) for sample in samples if sample.causes])
    WEIGHTS.write_text(as_toml(learn(samples, before=earlier_weights())), encoding="utf-8")
    return text
