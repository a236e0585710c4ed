"""The OpenAPI document, made of the endpoints' own declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulseboard.serve.endpoint import Endpoint

_ERRORS = {
    "400": "The request cannot be understood.",
    "401": "A token is needed.",
    "403": "Not allowed from here, or with this token.",
    "404": "There is nothing of this name.",
    "405": "The address is there for other methods.",
    "413": "The request or its answer would be too large.",
    "503": "Too much is being asked at once; ask again.",
}


def document(endpoints: Mapping[str, Mapping[str, Endpoint]], *, version: str, prefix: str) -> dict[str, Any]:
    """The whole interface for programs. A schema with a title stands among the components, under that name."""
    named: dict[str, Any] = {}
    paths = {
        f"/{path}": {method.lower(): _lifted(_operation(found), into=named) for method, found in methods.items()}
        for path, methods in sorted(endpoints.items())
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pulseboard",
            "version": version,
            "description": "Training runs: curves, media and findings.",
        },
        "servers": [{"url": f"{prefix}/api"}],
        "components": {
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {
                        "error": {
                            "type": "object",
                            "required": ["what", "do"],
                            "properties": {"what": {"type": "string"}, "do": {"type": "string"}},
                        }
                    },
                },
                **dict(sorted(named.items())),
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
        "paths": paths,
    }


def _lifted(value: Any, *, into: dict[str, Any]) -> Any:
    """The same with every named schema replaced by a reference to it, and the schema put into `into`."""
    if isinstance(value, list | tuple):
        return [_lifted(item, into=into) for item in value]
    if not isinstance(value, Mapping):
        return value
    name = value.get("title")
    if not isinstance(name, str):  # of a record's fields, one may be called title
        return {key: _lifted(item, into=into) for key, item in value.items()}
    inner = {key: _lifted(item, into=into) for key, item in value.items() if key != "title"}
    kinds = value["type"]
    reference = {"$ref": f"#/components/schemas/{name}"}
    default = {"default": inner.pop("default")} if "default" in inner else {}
    nullable = isinstance(kinds, list) and "null" in kinds
    if nullable:
        rest = [kind for kind in kinds if kind != "null"]
        inner["type"] = rest[0] if len(rest) == 1 else rest
        if "enum" in inner:
            inner["enum"] = [word for word in inner["enum"] if word is not None]
    assert into.setdefault(name, inner) == inner, f"Two schemas are called {name}."
    return {"anyOf": [reference, {"type": "null"}], **default} if nullable else {**reference, **default}


def _operation(found: Endpoint) -> dict[str, Any]:
    content: dict[str, Any] = {found.media_type: {"schema": found.gives or {}}}
    if found.media_type != "application/json":
        content[found.media_type] = {"schema": {"type": "string"}}
    operation: dict[str, Any] = {
        "operationId": f"{found.method.lower()}_{found.path.replace('.', '_')}",
        "summary": found.summary,
        "parameters": [_parameter(name, schema, name in found.required) for name, schema in found.query.items()],
        "responses": {
            "200": {"description": "The answer.", "content": content},
            "304": {"description": "The answer is the one whose ETag If-None-Match names."},
            **{status: _error(what) for status, what in _ERRORS.items()},
        },
    }
    if found.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": found.body}}}
    return operation


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> dict[str, Any]:
    said = {"name": name, "in": "query", "required": required, "schema": schema}
    return {**said, "style": "form", "explode": True} if schema["type"] == "array" else said


def _error(what: str) -> dict[str, Any]:
    return {"description": what, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
