"""The resolver: names propose roles, values dispose.

Every tag gets the roles that its name allows, values strike out what cannot be, and what is left is ranked: the
plainest name with the most points comes first. Losses are settled last, because one name alone does not say whether a
loss is the whole objective, a part of it, or one of two networks that compete.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from pulseboard.diagnose.roles.losses import settle_losses
from pulseboard.diagnose.roles.quantity_roles import QUANTITY_ROLES
from pulseboard.diagnose.roles.reading import Reading, RoleReading
from pulseboard.diagnose.roles.role import Role
from pulseboard.diagnose.roles.shape import Shape
from pulseboard.diagnose.roles.special_table import SPECIAL_ROLES
from pulseboard.diagnose.roles.table import ROLES
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.track import Change, Track

BY_NAME: Mapping[str, Role] = {role.name: role for role in (*QUANTITY_ROLES, *ROLES, *SPECIAL_ROLES)}

_SURE, _UNSURE = 0.9, 0.5


@lru_cache(maxsize=65536)
def possible_roles(tag: str) -> tuple[str, ...]:
    """Every role that the tag's name allows, whatever other tags there are."""
    words = words_of(tag)
    return tuple(role.name for role in BY_NAME.values() if role.fits(words))


def changes_for(tag: str) -> tuple[Change, ...]:
    """The change tests that the tag's series must carry for any role it may get."""
    return tuple(dict.fromkeys(change for name in possible_roles(tag) for change in BY_NAME[name].changes))


def read_tracks(tracks: Mapping[str, Track], *, given: Mapping[str, str] | None = None) -> Reading:
    """Which tag has which role, by name and by values."""
    named = set((given or {}).values())
    # The values of a tag without any role to confirm are not looked at.
    shapes = {
        tag: Shape.of(track) if possible_roles(tag) or tag in named else Shape(len(track))
        for tag, track in tracks.items()
    }
    return read_roles(shapes, given=given)


def read_roles(shapes: Mapping[str, Shape], *, given: Mapping[str, str] | None = None) -> Reading:
    """Which tag has which role. `given` overrides by role; an empty tag there removes the role."""
    doubtful: list[str] = []
    found: dict[str, tuple[str, ...]] = {}
    for role, tags in _candidates(shapes, doubtful).items():
        found[role] = tuple(sorted(tags, key=lambda tag: _rank(tag, shapes[tag])))
    maximized, twins = settle_losses(found, shapes, doubtful)
    for role, tag in (given or {}).items():
        if tag in shapes:
            found[role] = (tag, *(other for other in found.get(role, ()) if other != tag))
        elif tag:
            doubtful.append(f"{tag!r} should be read as {role}, but this run does not log it.")
        else:
            found.pop(role, None)
    found = {role: tags for role, tags in found.items() if tags}
    return Reading(
        found,
        tuple(doubtful),
        twins=twins,
        maximized=frozenset(maximized),
        readings=tuple(_readings(found, doubtful, given or {})),
        unread=tuple(sorted(set(shapes) - {tag for tags in found.values() for tag in tags})),
    )


def _candidates(shapes: Mapping[str, Shape], doubtful: list[str]) -> dict[str, list[str]]:
    candidates: dict[str, list[str]] = {}
    for tag, shape in shapes.items():
        for name in possible_roles(tag):
            objection = BY_NAME[name].objection(shape)
            if objection:
                doubtful.append(f"{tag!r} is not read as {name}: {objection}.")
            else:
                candidates.setdefault(name, []).append(tag)
    return candidates


def _rank(tag: str, shape: Shape) -> tuple[int, int, int, str]:
    # Norms from before clipping come first: clipping hides what there is to see.
    clipped = 0 if "before" in words_of(tag).every else 1
    return clipped, len(words_of(tag).every), -shape.count, tag


def _readings(found: Mapping[str, tuple[str, ...]], doubtful: list[str], given: Mapping[str, str]) -> list[RoleReading]:
    readings = []
    for role, tags in found.items():
        for tag in tags:
            if given.get(role) == tag:
                readings.append(RoleReading(tag, role, 1.0, "given by the user"))
                continue
            doubt = next((text for text in doubtful if text.startswith(repr(tag))), "")
            readings.append(RoleReading(tag, role, _UNSURE if doubt else _SURE, doubt or "by its name and values"))
    return readings
