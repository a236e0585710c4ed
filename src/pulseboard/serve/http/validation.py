"""Checks values against the schemas of schema.py, with messages that a client can act on."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pulseboard.serve.http.errors import BadRequest
from pulseboard.serve.http.schema import MAX_NAME_LENGTH, Schema, types_of


def validate(value: Any, schema: Schema, *, at: str) -> Any:
    """The value with defaults filled in. Raises BadRequest if it does not fit the schema.

    at  the name of the value in messages, such as "body.tags[0]"
    """
    if "type" not in schema:
        return value
    types = types_of(schema)
    if value is None and "null" in types:
        return None
    kind = next((kind for kind in types if kind != "null" and _is_a(value, kind)), None)
    if kind is None:
        raise BadRequest(f"{at} must be {_type_names(types)}, but is {_shown(value)}.")
    if "enum" in schema and value not in schema["enum"]:
        raise BadRequest(f"{at} is {_shown(value)}.", do=f"Use one of: {', '.join(map(str, schema['enum']))}.")
    return _CHECKS[kind](value, schema, at)


def validate_query(
    query: Mapping[str, list[str]], parameters: Mapping[str, Schema], *, required: tuple[str, ...]
) -> dict[str, Any]:
    """The values of a query string, converted to the types of their schemas. Unknown parameters are refused."""
    for name in query:
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise BadRequest(f"Unknown parameter {_shown(name)}.", do=f"Valid parameters: {known}.")
    values: dict[str, Any] = {}
    for name, schema in parameters.items():
        given = query.get(name)
        if given is None:
            if name in required:
                raise BadRequest(f"The parameter {name!r} is missing.", do=f"Add {name}=… to the address.")
            values[name] = schema.get("default")
        elif schema["type"] == "array":
            values[name] = validate([_from_text(text, schema["items"]) for text in given], schema, at=name)
        elif len(given) > 1:
            raise BadRequest(f"The parameter {name!r} was given {len(given)} times.", do="Give it once.")
        else:
            values[name] = validate(_from_text(given[0], schema), schema, at=name)
    return values


def _from_text(text: str, schema: Schema) -> Any:
    """The text as the schema's type. Text that cannot be converted is returned as it is; `validate` refuses it."""
    match schema["type"]:
        case "integer" if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20:
            return int(text)
        case "number":
            try:
                return float(text)
            except ValueError:
                return text
        case "boolean":
            return {"1": True, "true": True, "0": False, "false": False}.get(text, text)
    return text


def _is_a(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            # JSON Schema counts 1.0 as an integer.
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


def _string(value: str, schema: Schema, at: str) -> str:
    if len(value) > schema.get("maxLength", MAX_NAME_LENGTH):
        raise BadRequest(f"{at} is {len(value)} characters long.", do=f"Use at most {schema['maxLength']}.")
    if len(value) < schema.get("minLength", 0):
        raise BadRequest(f"{at} is empty.")
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        raise BadRequest(f"{at} is {_shown(value)}.", do=f"It must be {schema.get('description', 'valid')}.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadRequest(f"{at} is not valid Unicode: it contains half of a surrogate pair.") from None
    return value


def _boolean(value: bool, schema: Schema, at: str) -> bool:
    return value


def _number(value: float, schema: Schema, at: str) -> float:
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        finite = False
    if not finite:
        raise BadRequest(f"{at} must be a finite number.")
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if not low <= value <= high:
        raise BadRequest(f"{at} is {_shown(value)}.", do=f"Use {low} to {high}.")
    return int(value) if "integer" in types_of(schema) else value


def _array(value: list[Any], schema: Schema, at: str) -> list[Any]:
    if len(value) > schema["maxItems"]:
        raise BadRequest(f"{at} has {len(value)} entries.", do=f"Use at most {schema['maxItems']}.")
    if len(value) < schema.get("minItems", 0):
        raise BadRequest(f"{at} has {len(value)} entries.", do=f"Use at least {schema['minItems']}.")
    return [validate(item, schema["items"], at=f"{at}[{i}]") for i, item in enumerate(value)]


def _object(value: dict[str, Any], schema: Schema, at: str) -> dict[str, Any]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    if len(value) > schema.get("maxProperties", 1000):
        raise BadRequest(f"{at} has {len(value)} fields.", do=f"Use at most {schema['maxProperties']}.")
    out: dict[str, Any] = {}
    for name, item in value.items():
        if name in properties:
            out[name] = validate(item, properties[name], at=f"{at}.{name}")
        elif others is False:
            raise BadRequest(f"{at} has an unknown field {_shown(name)}.", do=f"Valid fields: {', '.join(properties)}.")
        else:
            _string(name, {"maxLength": MAX_NAME_LENGTH}, f"A key of {at}")
            out[name] = validate(item, others, at=f"{at}[{_shown(name)}]") if isinstance(others, Mapping) else item
    for name in schema.get("required", ()):
        if name not in value:
            raise BadRequest(f"{at} lacks the field {name!r}.")
    for name, inner in properties.items():
        if name not in out and "default" in inner:
            out[name] = inner["default"]
    return out


_CHECKS: dict[str, Callable[[Any, Schema, str], Any]] = {
    "string": _string,
    "boolean": _boolean,
    "number": _number,
    "integer": _number,
    "array": _array,
    "object": _object,
}
_TYPE_NAMES = {
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def _type_names(types: list[str]) -> str:
    return " or ".join(_TYPE_NAMES[kind] for kind in types)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
