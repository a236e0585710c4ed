"""Which tag is the loss, which are its parts, which validate it, and which need not fall."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from pulseboard.diagnose.roles.quantity import Quantity, quantity_of
from pulseboard.diagnose.roles.shape import Shape
from pulseboard.diagnose.roles.words import words_of

_ORDER = ("whole", "typed", "component", "auxiliary", "reinforcement", "adversarial")
# Two levels further apart than this are not the same quantity on two splits.
_SAME_SCALE = 5.0
_OVERLAPS = frozenset({"dice", "iou", "miou"})
_MOST_PERCENT = 100.0
_CLEAR_FALL = 0.15
_EXPLORATION = frozenset({"epsilon", "exploration"})
_GAME_SCORES = frozenset({"score", "scores", "performance"})
_LEAST_MISS = 0.3  # of an overlap, at the start

Found = MutableMapping[str, tuple[str, ...]]


def settle_losses(found: Found, shapes: Mapping[str, Shape], doubtful: list[str]) -> tuple[set[str], dict[str, str]]:
    """Settle all roles of losses and scores in `found`. Returns the losses that are maximized, and the twins:
    validation tag -> training tag of the same quantity."""
    _bare_splits(found, shapes, doubtful)
    _scores_of_games(found, shapes, doubtful)
    _drop_constants(found, shapes)
    _overlaps_that_fall(found, shapes, doubtful)
    _errors_for_losses(found, shapes, doubtful)
    _unsplit_evaluations(found, shapes, doubtful)
    if not _competing(found, doubtful):
        _main_loss(found, shapes, doubtful)
    else:
        found.pop("loss.components", None)
    for role in ("train.accuracy", "val.accuracy", "val.error", "train.error"):
        if role in found:
            found[role] = tuple(sorted(found[role], key=lambda tag: (_score_order(tag), -shapes[tag].count, tag)))
    maximized = _maximized(found, shapes, doubtful)
    return maximized, _twins(found, shapes)


def _of(tag: str) -> Quantity:
    quantity = quantity_of(tag)
    assert quantity is not None, tag
    return quantity


def _bare_splits(found: Found, shapes: Mapping[str, Shape], doubtful: list[str]) -> None:
    """`train: 1090.2 | val: 1078.7` are the loss of two splits if they begin alike and fall, or a score if they rise,
    and if no tag is named a loss."""
    train, validation = (
        tuple(tag for tag in found.get(role, ()) if words_of(tag).is_bare_split) for role in ("train.loss", "val.loss")
    )
    for role, bare in (("train.loss", train), ("val.loss", validation)):
        found[role] = tuple(tag for tag in found.get(role, ()) if tag not in bare)
    named = any(found.get(role) for role in ("train.loss", "val.loss", "loss.components", "rl.return"))
    if not train or not validation:
        return
    one = shapes[train[0]]
    shares = all(shapes[tag].known and shapes[tag].low >= 0 and shapes[tag].high <= 1 for tag in (*train, *validation))
    if not one.known or not (all(_alike(shapes[tag], one) for tag in validation) or (named and shares)):
        return
    if one.last < one.first and not named:
        found["train.loss"], found["val.loss"] = train, validation
    elif one.last > one.first and one.low >= 0 and one.high <= _MOST_PERCENT:
        found["train.accuracy"] = (*found.get("train.accuracy", ()), *train)
        found["val.accuracy"] = (*found.get("val.accuracy", ()), *validation)
    else:
        return
    what = "loss, as it falls" if one.last < one.first else "score, as it rises"
    doubtful.extend(f"{tag!r} is read as a {what}: its name gives only the split." for tag in (*train, *validation))


def _scores_of_games(found: Found, shapes: Mapping[str, Shape], doubtful: list[str]) -> None:
    """Where actions are chosen at random with a probability that is logged, a `score` is what an episode earned."""
    if found.get("rl.return") or not any(words_of(tag).rest & _EXPLORATION for tag in shapes):
        return
    earned = tuple(tag for tag in found.get("train.accuracy", ()) if _of(tag).qualifiers <= _GAME_SCORES)
    if earned:
        found["rl.return"] = earned
        found["train.accuracy"] = tuple(tag for tag in found["train.accuracy"] if tag not in earned)
        doubtful.extend(f"{tag!r} is read as a return: the run logs an exploration rate." for tag in earned)


def _drop_constants(found: Found, shapes: Mapping[str, Shape]) -> None:
    """Settings printed to a log look like metrics with one value."""
    for role in (
        "train.loss",
        "loss.components",
        "val.loss",
        "train.accuracy",
        "val.accuracy",
        "train.error",
        "val.error",
    ):
        tags = found.get(role, ())
        moving = tuple(tag for tag in tags if shapes[tag].count > 1)
        if role in found and moving:
            found[role] = moving


def _overlaps_that_fall(found: Found, shapes: Mapping[str, Shape], doubtful: list[str]) -> None:
    """`dice` and `iou` are scores or one minus a score. One that falls with the loss is a part of the loss."""
    losses = [shapes[tag] for role in ("train.loss", "val.loss") for tag in found.get(role, ()) if shapes[tag].known]
    if not losses or not all(shape.last < shape.first for shape in losses):
        return
    scores = [tag for role in ("train.accuracy", "val.accuracy") for tag in found.get(role, ())]
    falling = {_of(tag).key for tag in scores if _of(tag).qualifiers & _OVERLAPS and _falls(shapes[tag])}
    for role in ("train.accuracy", "val.accuracy"):
        gone = [tag for tag in found.get(role, ()) if _of(tag).key in falling]
        if gone:
            found[role] = tuple(tag for tag in found[role] if tag not in gone)
            doubtful.extend(f"{tag!r} falls with the loss, so it is not read as a score." for tag in gone)


def _falls(shape: Shape) -> bool:
    return shape.known and shape.first > _LEAST_MISS and 0 <= shape.last < (1 - _CLEAR_FALL) * shape.first


def _errors_for_losses(found: Found, shapes: Mapping[str, Shape], doubtful: list[str]) -> None:
    """Without any loss by name, an error that training reduces stands for it."""
    if found.get("train.loss") or found.get("rl.return"):
        return
    errors = found.get("train.error", ())
    if not errors:
        return
    tag = min(errors, key=lambda tag: (len(words_of(tag).every), -shapes[tag].count, tag))
    found["train.loss"] = (tag,)
    doubtful.append(f"{tag!r} is used as the training loss: no tag is named a loss.")
    same = tuple(other for other in found.get("val.error", ()) if _of(other).key == _of(tag).key)
    if same and not found.get("val.loss"):
        found["val.loss"] = same


def _unsplit_evaluations(found: Found, shapes: Mapping[str, Shape], doubtful: list[str]) -> None:
    """A score without a split that is logged together with the validation loss is a validation score."""
    for kind in ("accuracy", "error"):
        tags = found.get(f"train.{kind}", ())
        evaluations = {shapes[tag].count for role in ("val.loss", f"val.{kind}") for tag in found.get(role, ())}
        losses = found.get("train.loss", ())
        named = {words_of(tag).split for tag in losses}
        # Logged with each evaluation, and less often than the training loss.
        seldom = min((shapes[tag].count for tag in losses), default=0) / 2
        moved = tuple(
            tag
            for tag in tags
            if words_of(tag).split == ""
            and ("train" in named or shapes[tag].count <= seldom)
            and any(abs(shapes[tag].count - count) <= 1 for count in evaluations)
        )
        if moved:
            found[f"train.{kind}"] = tuple(tag for tag in tags if tag not in moved)
            found[f"val.{kind}"] = (*found.get(f"val.{kind}", ()), *moved)


def _competing(found: Found, doubtful: list[str]) -> bool:
    """In reinforcement learning and GANs losses need not fall: move all of them to a role that says so."""
    adversarial = found.get("gan.loss", ())
    policies = found.get("rl.loss", ())
    others = [tag for tag in found.get("train.loss", ()) if tag not in policies]
    if found.get("rl.return") or found.get("rl.kl") or len(policies) > 1 or (policies and not others):
        kind, role = "reinforcement learning", "rl.loss"
    elif len({frozenset(_of(tag).qualifiers) for tag in adversarial}) > 1:
        kind, role = "a GAN", "gan.loss"
    else:
        found.pop("rl.loss", None)
        found.pop("gan.loss", None)
        return False
    others = [tag for name in ("train.loss", "val.loss") for tag in found.pop(name, ())]
    found[role] = tuple(dict.fromkeys((*found.get(role, ()), *others)))
    plain = [tag for tag in others if _of(tag).part == "whole"]
    if plain:
        doubtful.append(f"{plain[0]!r} belongs to {kind} here and is not expected to fall.")
    return True


def _main_loss(found: Found, shapes: Mapping[str, Shape], doubtful: list[str]) -> None:
    train = list(found.get("train.loss", ()))
    sets = _data_sets(train, shapes)
    for tag in sets:
        train.remove(tag)
        doubtful.append(f"{tag!r} is read as a validation loss: the first part of its name is not a split.")
    validation = [*found.get("val.loss", ()), *sets]
    ranked = sorted(train, key=lambda tag: _loss_rank(tag, shapes[tag]))
    first = _order(ranked[0]) if ranked else 0
    parts = [tag for tag in ranked if _order(tag) >= _ORDER.index("component")]
    if ranked and first >= _ORDER.index("component") and len(parts) > 1:
        # Only parts are logged: none of them is the loss.
        found.pop("train.loss", None)
        found["loss.components"] = tuple(parts)
    else:
        found["train.loss"] = tuple(tag for tag in ranked if _order(tag) == first)
        found["loss.components"] = tuple(tag for tag in parts if _order(tag) != first)
    main = found.get("train.loss", ())[:1]
    key = _of(main[0]).key if main else None
    found["val.loss"] = tuple(
        sorted(validation, key=lambda tag: (_of(tag).key != key, _order(tag), len(words_of(tag).every), tag))
    )


def _data_sets(train: list[str], shapes: Mapping[str, Shape]) -> list[str]:
    """`wikitext/loss` next to `train/loss`: a data set with a name of its own, evaluated now and then."""
    main = [tag for tag in train if words_of(tag).split == "train" and _of(tag).part == "whole"]
    if not main:
        return []
    whole = shapes[main[0]]
    return [
        tag
        for tag in train
        if words_of(tag).split == ""
        and tag.lower().endswith("/loss")
        and tag.count("/") == 1
        and _of(tag).part == "component"
        and (not shapes[tag].known or not whole.known or _alike(shapes[tag], whole))
        and shapes[tag].count <= whole.count
    ]


def _alike(one: Shape, other: Shape) -> bool:
    """Whether two series begin at about the same level."""
    a, b = abs(one.first), abs(other.first)
    return min(a, b) * _SAME_SCALE >= max(a, b)


def _order(tag: str) -> int:
    return _ORDER.index(_of(tag).part)


def _loss_rank(tag: str, shape: Shape) -> tuple[int, int, int, int, str]:
    # Of one quantity logged by step and by epoch, the finer counts: windows are in points.
    unsplit = 0 if words_of(tag).split == "train" else 1
    return _order(tag), -min(shape.count, 16), unsplit, -shape.count, tag


def _score_order(tag: str) -> int:
    """Accuracies first: their chance level is known."""
    return 0 if words_of(tag).rest & {"acc", "accuracy"} else 1


def _maximized(found: Found, shapes: Mapping[str, Shape], doubtful: list[str]) -> set[str]:
    """Losses that rise as the model learns: an ELBO or a log-likelihood."""
    tags = [tag for role in ("train.loss", "val.loss", "loss.components") for tag in found.get(role, ())]
    named = [tag for tag in tags if _of(tag).maximized_by_name or words_of(tag).rest & {"likelihood", "ll"}]
    rising = {tag for tag in named if not shapes[tag].known or shapes[tag].last > shapes[tag].first}
    scores = [shapes[tag] for role in ("val.accuracy", "train.accuracy") for tag in found.get(role, ())]
    learns = any(shape.known and shape.last > shape.first + 0.02 * abs(shape.first) for shape in scores)
    for tag in tags:
        shape = shapes[tag]
        # Below zero and on its way up towards it: the logarithm of a probability.
        if shape.known and shape.high <= 0 and shape.last > shape.first and learns:
            rising.add(tag)
    for tag in sorted(rising):
        doubtful.append(f"{tag!r} rises as the model learns, so it is read as maximized.")
    return rising


def _twins(found: Found, shapes: Mapping[str, Shape]) -> dict[str, str]:
    pairs = {}
    for validation, training in (
        (found.get("val.loss", ()), (*found.get("train.loss", ()), *found.get("loss.components", ()))),
        (found.get("val.accuracy", ()), found.get("train.accuracy", ())),
        (found.get("val.error", ()), found.get("train.error", ())),
    ):
        by_key = {_of(tag).key: tag for tag in reversed(training)}
        for tag in validation:
            twin = by_key.get(_of(tag).key)
            if twin is not None and twin != tag:
                pairs[tag] = twin
    return pairs
