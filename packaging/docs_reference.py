"""Reference pages of the documentation site, made from the code: commands, Python names and HTTP endpoints."""

from __future__ import annotations

import argparse
import inspect
import json
import textwrap
from collections.abc import Iterator
from typing import Any


def command_page() -> str:
    """Every command with its help and a table of its options."""
    from pulseboard.cli.main import full_parser

    lines = ["# Command line", "", "Generated from `pulseboard --help`. [Commands](commands.md) explains them.", ""]
    for name, parser in _parsers(full_parser(), prefix="pulseboard"):
        description = parser.description or ""
        lines += [f"## {name}", "", *_text(description), "", "| Argument | Meaning |", "| --- | --- |"]
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
                continue
            names = ", ".join(action.option_strings) or action.metavar or action.dest
            value = _value_of(action) if action.option_strings else ""
            lines.append(f"| `{_cell(f'{names} {value}'.strip())}` | {_cell((action.help or '').replace('%%', '%'))} |")
        lines.append("")
    return "\n".join(lines)


def _parsers(parser: argparse.ArgumentParser, *, prefix: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """A parser and those of its commands, at any depth."""
    yield prefix, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from _parsers(inner, prefix=f"{prefix} {name}")


def _value_of(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    metavar = action.metavar if isinstance(action.metavar, str) else None
    return metavar or action.dest.upper()


def python_page() -> str:
    """Every public name with its signature and docstring; classes with their public methods and properties."""
    import pulseboard

    lines = ["# Python", "", "Generated from the docstrings. `import pulseboard as pb` gives these names.", ""]
    for name in pulseboard.__all__:
        value = getattr(pulseboard, name)
        lines += [f"## {name}", ""]
        if not callable(value):
            lines += ["The installed version.", ""]
            continue
        lines += _entry(f"pb.{name}", value)
        if inspect.isclass(value):
            for member, definition in _members(value):
                lines += [f"### {name}.{member}", "", *_entry(f"{name}.{member}", definition)]
    return "\n".join(lines)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that our own classes define, in the order of their names."""
    for name in sorted(dir(cls)):
        owner = next((one for one in cls.__mro__ if name in vars(one)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("pulseboard"):
            continue
        value = vars(owner)[name]
        if isinstance(value, property) or callable(getattr(cls, name)):
            yield name, value.fget if isinstance(value, property) else getattr(cls, name)


def _entry(name: str, value: Any) -> list[str]:
    try:
        signature = str(inspect.signature(value)).replace("(self, ", "(").replace("(self)", "()")
    except (TypeError, ValueError):
        signature = ""
    return ["```text", f"{name}{signature}", "```", "", *_text(inspect.getdoc(value) or ""), ""]


def http_page() -> str:
    """Every endpoint with its parameters and body, from the OpenAPI document."""
    import pulseboard
    from pulseboard.serve.http.endpoint import load_endpoints
    from pulseboard.serve.http.openapi import document

    made = document(load_endpoints(), version=pulseboard.__version__, prefix="")
    lines = [
        "# HTTP interface",
        "",
        "Generated from the OpenAPI document, which a running server has at `api/openapi.json`. "
        "[Serving](../guides/serving.md) says who may call it.",
        "",
    ]
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            lines += [f"## {method.upper()} api{path}", "", *_text(operation["summary"]), ""]
            if operation["parameters"]:
                lines += ["| Parameter | Required | Schema |", "| --- | --- | --- |"]
                for one in operation["parameters"]:
                    required = "yes" if one["required"] else ""
                    lines.append(f"| `{one['name']}` | {required} | `{_cell(json.dumps(one['schema']))}` |")
                lines.append("")
            if "requestBody" in operation:
                lines += ["Body:", "", *_schema(operation["requestBody"]["content"]["application/json"]["schema"])]
            ((media_type, content),) = operation["responses"]["200"]["content"].items()
            lines += [f"Response: `{media_type}`", ""]
            if media_type == "application/json":
                lines += _schema(content["schema"])
    lines += ["## Schemas", ""]
    for name, schema in made["components"]["schemas"].items():
        lines += [f"### {name}", "", *_schema(schema)]
    return "\n".join(lines)


def _schema(schema: Any) -> list[str]:
    return ["```json", json.dumps(schema, indent=2, ensure_ascii=False), "```", ""]


def _text(text: str) -> list[str]:
    """A docstring as Markdown: indented and aligned parts stay as they are, in a block."""
    lines: list[str] = []
    for part in textwrap.dedent(text).strip().split("\n\n"):
        aligned = any(line.startswith("  ") or "  " in line.strip() for line in part.splitlines())
        lines += ["```text", part, "```", ""] if aligned else [*(_escape(line) for line in part.splitlines()), ""]
    return lines


def _escape(line: str) -> str:
    """A line of a docstring that cannot become HTML or a link. Code in backquotes stays as it is."""
    parts = line.split("`")
    parts[::2] = [part.replace("<", "&lt;").replace("[", "\\[").replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
