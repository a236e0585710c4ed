"""The OpenAPI document, generated from the endpoints' declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulseboard.serve.http.endpoint import Endpoint

_ERRORS = {
    "400": "Invalid request.",
    "401": "A token is required.",
    "403": "The origin or the token does not allow this.",
    "404": "No such endpoint, run, tag or item.",
    "405": "The method is not allowed here.",
    "409": "The request does not fit the state of what it would change.",
    "413": "The request or its response is too large.",
    "503": "Server busy; try again.",
    "507": "The server's disk refuses what the request wants to keep.",
}
_RANGES = {
    "206": {"description": "The bytes that the Range header selects."},
    "416": {"description": "The Range header selects nothing."},
}


def document(endpoints: Mapping[str, Mapping[str, Endpoint]], *, version: str, prefix: str) -> dict[str, Any]:
    """The OpenAPI document. A schema with a title becomes a component of that name."""
    components: dict[str, Any] = {}
    paths = {
        f"/{path}": {method.lower(): _with_references(_operation(one), components) for method, one in methods.items()}
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
                **dict(sorted(components.items())),
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
        "paths": paths,
    }


def _with_references(value: Any, components: dict[str, Any]) -> Any:
    """The value with every titled schema replaced by a reference to it; the schema is added to `components`."""
    if isinstance(value, list | tuple):
        return [_with_references(item, components) for item in value]
    if not isinstance(value, Mapping):
        return value
    name = value.get("title")
    if not isinstance(name, str):  # a dict: a record's properties, one of which is called "title"
        return {key: _with_references(item, components) for key, item in value.items()}
    inner = {key: _with_references(item, components) for key, item in value.items() if key != "title"}
    types = value["type"]
    reference = {"$ref": f"#/components/schemas/{name}"}
    default = {"default": inner.pop("default")} if "default" in inner else {}
    nullable = isinstance(types, list) and "null" in types
    if nullable:
        rest = [kind for kind in types if kind != "null"]
        inner["type"] = rest[0] if len(rest) == 1 else rest
        if "enum" in inner:
            inner["enum"] = [word for word in inner["enum"] if word is not None]
    assert components.setdefault(name, inner) == inner, f"Two schemas are called {name}."
    return {"anyOf": [reference, {"type": "null"}], **default} if nullable else {**reference, **default}


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    returns = endpoint.returns or {} if endpoint.media_type == "application/json" else {"type": "string"}
    operation: dict[str, Any] = {
        "operationId": f"{endpoint.method.lower()}_{endpoint.path.replace('.', '_')}",
        "summary": endpoint.summary,
        "parameters": [_parameter(name, schema, name in endpoint.required) for name, schema in endpoint.query.items()],
        "responses": {
            "200": {"description": "The response.", "content": {endpoint.media_type: {"schema": returns}}},
            **(_RANGES if endpoint.media_type in ("image/*", "audio/*") else {}),
            "304": {"description": "Not modified: the client's ETag in If-None-Match is still current."},
            **{status: _error(description) for status, description in _ERRORS.items()},
        },
    }
    if endpoint.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": endpoint.body}}}
    return operation


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> dict[str, Any]:
    parameter = {"name": name, "in": "query", "required": required, "schema": schema}
    return {**parameter, "style": "form", "explode": True} if schema["type"] == "array" else parameter


def _error(description: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {"description": description, "content": content}
