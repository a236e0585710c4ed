"""JSON Schema, the few words of it that the interface needs: one declaration checks requests and documents them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from pulseboard.serve.errors import BadRequest

Schema = Mapping[str, Any]

NAME_LENGTH = 4096
"""No file system has longer paths, and no tag is longer."""


# ---- words to write schemas with


def text(about: str = "", *, most: int = NAME_LENGTH, **more: Any) -> dict[str, Any]:
    """A string."""
    return {"type": "string", "maxLength": most, **_about(about), **more}


def choice(*words: str, about: str = "", **more: Any) -> dict[str, Any]:
    """One of a few words."""
    return {"type": "string", "enum": list(words), **_about(about), **more}


def whole(about: str = "", *, least: int = 0, most: int = 2**53, **more: Any) -> dict[str, Any]:
    """A whole number."""
    return {"type": "integer", "minimum": least, "maximum": most, **_about(about), **more}


def number(about: str = "", **more: Any) -> dict[str, Any]:
    """A finite number."""
    return {"type": "number", **_about(about), **more}


def flag(about: str = "", **more: Any) -> dict[str, Any]:
    """True or false; in a query 1, true, 0 or false."""
    return {"type": "boolean", **_about(about), **more}


def several(items: Schema, about: str = "", *, most: int, **more: Any) -> dict[str, Any]:
    """An array; in a query a name that is repeated."""
    return {"type": "array", "items": items, "maxItems": most, **_about(about), **more}


def record(fields: Mapping[str, Schema], about: str = "", *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object of known fields, and no others."""
    return {
        "type": "object",
        **_about(about),
        "properties": dict(fields),
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def answer(name: str, fields: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """A record of an answer, which has every field but the optional ones. The document lists it under its name."""
    return {"title": name, **record(fields, required=tuple(field for field in fields if field not in optional))}


def either(*schemas: Schema) -> dict[str, Any]:
    """One of several types, each of which its own words describe."""
    merged: dict[str, Any] = {}
    for one in schemas:
        merged |= one
    return {**merged, "type": [kind for one in schemas for kind in _kinds(one)]}


def spelled_number(about: str = "") -> dict[str, Any]:
    """A number of an answer; JSON lacks those that are not finite, and they are 'nan', 'inf' and '-inf'."""
    return either(number(about), text(about))


def any_value(about: str = "") -> dict[str, Any]:
    """Whatever JSON can say."""
    return _about(about)


def by_name(values: Schema, about: str = "", *, most: int = 100_000) -> dict[str, Any]:
    """An object whose names are anybody's: runs, tags."""
    return {"type": "object", **_about(about), "additionalProperties": values, "maxProperties": most}


def or_null(schema: Schema) -> dict[str, Any]:
    """The same, or null."""
    return {
        **schema,
        "type": [*_kinds(schema), "null"],
        **({"enum": [*schema["enum"], None]} if "enum" in schema else {}),
    }


def _kinds(schema: Schema) -> list[str]:
    kinds = schema["type"]
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _about(about: str) -> dict[str, str]:
    return {"description": about} if about else {}


# ---- checking


def check(value: Any, schema: Schema, *, at: str) -> Any:
    """The value, with what it leaves out filled in; BadRequest where it does not fit."""
    if "type" not in schema:
        return value
    kinds = _kinds(schema)
    if value is None and "null" in kinds:
        return None
    kind = next((kind for kind in kinds if kind != "null" and _is(value, kind)), None)
    if kind is None:
        raise BadRequest(f"{at} must be {_spelled(kinds)}, and is {_shown(value)}.")
    if "enum" in schema and value not in schema["enum"]:
        raise BadRequest(f"{at} is {_shown(value)}.", do=f"Use one of: {', '.join(map(str, schema['enum']))}.")
    return _CHECKS.get(kind, _as_it_is)(value, schema, at)


def check_query(query: Mapping[str, list[str]], parameters: Mapping[str, Schema], *, required: tuple[str, ...]) -> Any:
    """A query's values, each as its schema has it; parameters that nobody declared are refused."""
    out: dict[str, Any] = {}
    for name in query:
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise BadRequest(f"There is no parameter {_shown(name)} here.", do=f"Known are: {known}.")
    for name, schema in parameters.items():
        given = query.get(name)
        if given is None:
            if name in required:
                raise BadRequest(f"The parameter {name!r} is missing.", do=f"Add {name}=… to the address.")
            out[name] = schema.get("default")
        elif schema["type"] == "array":
            out[name] = check([_from_text(v, schema["items"]) for v in given], schema, at=name)
        elif len(given) > 1:
            raise BadRequest(f"The parameter {name!r} was given {len(given)} times.", do="Give it once.")
        else:
            out[name] = check(_from_text(given[0], schema), schema, at=name)
    return out


def _from_text(value: str, schema: Schema) -> Any:
    """A query's text as the schema's type, or the text itself where it is none: the check tells."""
    match schema["type"]:
        case "integer" if value.removeprefix("-").isdecimal() and value.isascii() and len(value) < 20:
            return int(value)
        case "number":
            try:
                return float(value)
            except ValueError:
                return value
        case "boolean":
            return {"1": True, "true": True, "0": False, "false": False}.get(value, value)
    return value


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            # JSON Schema's integers include 1.0.
            return (isinstance(value, int) and not isinstance(value, bool)) or (
                isinstance(value, float) and value.is_integer()
            )
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
    raise AssertionError(kind)


def _text(value: str, schema: Schema, at: str) -> str:
    if len(value) > schema.get("maxLength", NAME_LENGTH):
        raise BadRequest(f"{at} is {len(value)} characters long.", do=f"Use at most {schema['maxLength']}.")
    if len(value) < schema.get("minLength", 0):
        raise BadRequest(f"{at} is empty.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadRequest(f"{at} is no Unicode text: it has half of a surrogate pair.") from None
    return value


def _number(value: float, schema: Schema, at: str) -> float:
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        finite = False
    if not finite:
        raise BadRequest(f"{at} must be a finite number.")
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if not low <= value <= high:
        raise BadRequest(f"{at} is {_shown(value)}.", do=f"Use {low} to {high}.")
    return int(value) if schema["type"] == "integer" or "integer" in schema["type"] else value


def _array(value: list[Any], schema: Schema, at: str) -> list[Any]:
    if len(value) > schema["maxItems"]:
        raise BadRequest(f"{at} has {len(value)} entries.", do=f"Use at most {schema['maxItems']}.")
    if len(value) < schema.get("minItems", 0):
        raise BadRequest(f"{at} has {len(value)} entries.", do=f"Use at least {schema['minItems']}.")
    return [check(item, schema["items"], at=f"{at}[{i}]") for i, item in enumerate(value)]


def _object(value: dict[str, Any], schema: Schema, at: str) -> dict[str, Any]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    if len(value) > schema.get("maxProperties", 1000):
        raise BadRequest(f"{at} has {len(value)} fields.", do=f"Use at most {schema['maxProperties']}.")
    out: dict[str, Any] = {}
    for name, item in value.items():
        if name in properties:
            out[name] = check(item, properties[name], at=f"{at}.{name}")
        elif others is False:
            raise BadRequest(f"{at} has no field {_shown(name)}.", do=f"Known are: {', '.join(properties)}.")
        else:
            _text(name, {"maxLength": NAME_LENGTH}, f"A name in {at}")
            out[name] = check(item, others, at=f"{at}[{_shown(name)}]") if isinstance(others, Mapping) else item
    for name in schema.get("required", ()):
        if name not in value:
            raise BadRequest(f"{at} lacks the field {name!r}.")
    for name, inner in properties.items():
        if name not in out and "default" in inner:
            out[name] = inner["default"]
    return out


def _as_it_is(value: Any, schema: Schema, at: str) -> Any:
    return value


_CHECKS: dict[str, Callable[[Any, Schema, str], Any]] = {
    "string": _text,
    "number": _number,
    "integer": _number,
    "array": _array,
    "object": _object,
}
_NOUNS = {
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def _spelled(kinds: list[str]) -> str:
    return " or ".join(_NOUNS[kind] for kind in kinds)


def _shown(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 60 else said[:57] + "…"
