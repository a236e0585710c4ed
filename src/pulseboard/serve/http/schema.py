"""JSON Schema builders. One schema validates requests (validation.py) and documents them (openapi.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

MAX_NAME_LENGTH = 4096
"""No file system has longer paths, and no tag is longer."""


def string(
    description: str = "", *, max_length: int = MAX_NAME_LENGTH, min_length: int | None = None, **more: Any
) -> dict[str, Any]:
    """A string."""
    length = {"maxLength": max_length, **({} if min_length is None else {"minLength": min_length})}
    return {"type": "string", **length, **_described(description), **more}


def choice(*words: str, description: str = "", **more: Any) -> dict[str, Any]:
    """One of a few words."""
    return {"type": "string", "enum": list(words), **_described(description), **more}


def integer(description: str = "", *, minimum: int = 0, maximum: int = 2**53, **more: Any) -> dict[str, Any]:
    """A whole number."""
    return {"type": "integer", "minimum": minimum, "maximum": maximum, **_described(description), **more}


def number(description: str = "", **more: Any) -> dict[str, Any]:
    """A finite number."""
    return {"type": "number", **_described(description), **more}


def boolean(description: str = "", **more: Any) -> dict[str, Any]:
    """True or false; in a query string 1, true, 0 or false."""
    return {"type": "boolean", **_described(description), **more}


def array(
    items: Schema, description: str = "", *, max_items: int, min_items: int | None = None, **more: Any
) -> dict[str, Any]:
    """An array; in a query string a repeated name."""
    length = {"maxItems": max_items, **({} if min_items is None else {"minItems": min_items})}
    return {"type": "array", "items": items, **length, **_described(description), **more}


def record(fields: Mapping[str, Schema], description: str = "", *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {
        "type": "object",
        **_described(description),
        "properties": dict(fields),
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def named_record(name: str, fields: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object of a response. It has every field except optional ones, and OpenAPI lists it under its name."""
    return {"title": name, **record(fields, required=tuple(field for field in fields if field not in optional))}


def mapping(values: Schema, description: str = "", *, max_entries: int = 100_000) -> dict[str, Any]:
    """An object with arbitrary keys, such as names of runs or tags."""
    return {"type": "object", **_described(description), "additionalProperties": values, "maxProperties": max_entries}


def either(*schemas: Schema) -> dict[str, Any]:
    """Any of several types. The keywords of all of them apply, each to its own type."""
    merged: dict[str, Any] = {}
    for one in schemas:
        merged |= one
    return {**merged, "type": [kind for one in schemas for kind in types_of(one)]}


def number_or_nan(description: str = "") -> dict[str, Any]:
    """A number of a response. JSON has no NaN or infinities: they are the strings 'nan', 'inf' and '-inf'."""
    return either(number(description), string(description))


def any_value(description: str = "") -> dict[str, Any]:
    """Any JSON value."""
    return _described(description)


def nullable(schema: Schema) -> dict[str, Any]:
    """The same, or null."""
    return {
        **schema,
        "type": [*types_of(schema), "null"],
        **({"enum": [*schema["enum"], None]} if "enum" in schema else {}),
    }


def types_of(schema: Schema) -> list[str]:
    """The schema's types as a list."""
    types = schema["type"]
    return [types] if isinstance(types, str) else list(types)


def _described(description: str) -> dict[str, str]:
    return {"description": description} if description else {}
