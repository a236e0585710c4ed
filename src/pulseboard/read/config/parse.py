"""A configuration as text, in any of the forms in which trainings write one."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from pulseboard.read.parsing.yaml_file import NotUsable, parse_yaml

# Python's own parser is slow and recursive; what it gets is the repr of a namespace or a dict.
_MAX_PYTHON_CHARS = 256 << 10
_MAX_PYTHON_DEPTH = 40
_MIN_LINES = 3

_NAMESPACE = re.compile(r"[A-Za-z_][\w.]*\(")
_RULE = re.compile(r"[|\s:=+-]+")
_NAME = r"[A-Za-z_][\w./-]*"
_OPTION_LINE = re.compile(rf"\s*({_NAME})\s*[:=]\s*(.*?)\s*(?:\[default:.*\])?\s*")
_MARKDOWN = re.compile(r"\A\s*(?:```\w*|<pre>)\s*\n?|\s*(?:```|</pre>)\s*\Z")


def parse_config(text: str) -> dict[str, Any]:
    """The settings in a text: JSON, YAML, a Python dict or `Namespace(...)`, a Markdown table, or lines of options.

    Empty if it is none of these. Raises NotUsable if it is a configuration that cannot be used.
    """
    text = _MARKDOWN.sub("", text).strip("\n")
    if not text.strip():
        return {}
    for parse in _parsers(text):
        if found := parse(text):
            return found
    return {}


def scalar(text: str) -> Any:
    """A value that was written as text: a number, a truth value, None, or the text itself."""
    plain = text.strip()
    named = {"true": True, "false": False, "none": None, "null": None}
    if plain.lower() in named:
        return named[plain.lower()]
    for convert in (int, float):
        try:
            return convert(plain)
        except ValueError:
            continue
    return plain.strip("'\"")


def parse_arguments(arguments: Iterable[Any]) -> dict[str, Any]:
    """The settings of a command line: `--lr 0.1`, `--lr=0.1`, `lr=0.1` and switches."""
    found: dict[str, Any] = {}
    name = ""
    for argument in map(str, arguments):
        option = argument.lstrip("-+")
        is_option = argument.startswith("--") or (argument.startswith("-") and option[:1].isalpha())
        if "=" in option and (is_option or re.match(rf"\+*{_NAME}=", argument)):
            key, _, value = option.partition("=")
            found[key], name = scalar(value), ""
        elif is_option:
            found[option], name = True, option
        elif name:
            found[name], name = scalar(argument), ""
    return found


def _parsers(text: str) -> list[Callable[[str], dict[str, Any]]]:
    start = text.lstrip()[:200]
    if start.startswith("{"):
        return [_json, _python, _yaml]
    if _NAMESPACE.match(start):
        return [_python]
    if _has_table(text):
        return [_markdown_table]
    return [_yaml, _option_lines]


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _python(text: str) -> dict[str, Any]:
    """A dict, or a call with keywords such as the repr of an argparse namespace. Nothing is evaluated."""
    depths, depth = [0], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        depths.append(depth)
    if len(text) > _MAX_PYTHON_CHARS or max(depths) > _MAX_PYTHON_DEPTH:
        return {}
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    if isinstance(tree, ast.Call):
        return {word.arg: _literal(word.value) for word in tree.keywords if word.arg is not None}
    if isinstance(tree, ast.Dict):
        pairs = zip(tree.keys, tree.values, strict=True)
        return {str(_literal(key)): _literal(value) for key, value in pairs if key is not None}
    return {}


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_literal(key)): _literal(value) for key, value in pairs if key is not None}
    if isinstance(node, ast.Call) and node.keywords:
        return {word.arg: _literal(word.value) for word in node.keywords if word.arg is not None}
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return ast.unparse(node)


def _has_table(text: str) -> bool:
    return any("|" in line and "-" in line and _RULE.fullmatch(line) for line in text.splitlines()[:20])


def _markdown_table(text: str) -> dict[str, Any]:
    """Rows of a name and a value; what comes before the line under the header is the header."""
    found: dict[str, Any] = {}
    below_header = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if _RULE.fullmatch(line) and "|" in line:
            below_header = True
        elif below_header and len(cells) >= 2 and cells[0]:
            found[cells[0]] = scalar("|".join(cells[1:]))
    return found


def _yaml(text: str) -> dict[str, Any]:
    """YAML, perhaps indented as a whole and with tabs, as a code block in Markdown is."""
    text = "\n".join(line.removeprefix("\t") if line.startswith("\t") else line for line in text.splitlines())
    try:
        found = parse_yaml(textwrap.dedent(text).replace("\t", " "))
    except NotUsable:
        if len(_option_lines(text)) >= _MIN_LINES:
            return {}
        raise
    return {name: value for name, value in found.items() if " " not in name.strip()}


def _option_lines(text: str) -> dict[str, Any]:
    """Lines of a name and a value, such as the options that pix2pix saves; most lines must be such."""
    lines = [
        line for line in text.splitlines() if line.strip() and not _RULE.fullmatch(line) and line.strip()[0] != "#"
    ]
    matches = [match for line in lines if (match := _OPTION_LINE.fullmatch(line))]
    if len(matches) < _MIN_LINES or 3 * len(matches) < 2 * len(lines):
        return {}
    return {match[1]: scalar(match[2]) for match in matches}
