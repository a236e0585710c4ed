"""Expressions over tags, such as `val/loss - train/loss`: their grammar, and their value at given steps.

    sum      = product {("+" | "-") product}
    product  = power {("*" | "/") power}
    power    = sign ["^" power]
    sign     = ["-"] atom
    atom     = number | tag | function "(" sum {"," sum} ")" | "run" "(" text "," tag ")" | "(" sum ")"

A tag may contain letters, digits and `_ . / : -`; `-` and `/` are operators only with a space on both sides. Other
tags are written as text, in quotes. `run("NAME", TAG)` is a tag of another run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.charts.query import BadQuery, Smoothing
from pulseboard.charts.smoothing import SmoothedSeries

Floats = NDArray[np.float64]

_MAX_LENGTH = 2000
_MAX_DEPTH = 50
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w./:]))
      | (?P<text>"[^"]*"|'[^']*')
      | (?P<tag>[^\W\d][\w.:]*(?:[-/]+[\w.:]+)*)
      | (?P<operator>[-+*/^(),])
    )""",
    re.VERBOSE,
)


class BadExpression(BadQuery):
    """An expression that does not follow the grammar; the message says where."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tag in an expression; of another run if `run` is given."""

    tag: str
    run: str | None = None


Values = Mapping[Leaf, Floats]
Node = Callable[[Values], Any]
"""Computes a part of an expression from the values of its leaves, which all have the same steps."""


def _ema(values: Any, weight: Any) -> Floats:
    weight = float(np.ravel(weight)[0])
    if not 0 <= weight < 1:
        raise BadExpression(f"The weight of ema is {weight:g}; use 0 or more, below 1.")
    values = np.asarray(values, np.float64)
    return SmoothedSeries(Smoothing("debiased", weight)).values(np.arange(len(values), dtype=np.float64), values)


def _diff(values: Any) -> Floats:
    return np.diff(np.asarray(values, np.float64), prepend=np.nan)


FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    # name -> how many arguments it takes, and what it computes
    "abs": (1, np.abs),
    "cumsum": (1, np.cumsum),
    "diff": (1, _diff),
    "ema": (2, _ema),
    "exp": (1, np.exp),
    "log": (1, np.log),
    "log10": (1, np.log10),
    "max": (2, np.maximum),
    "min": (2, np.minimum),
    "sqrt": (1, np.sqrt),
}
_SERIES_FUNCTIONS = ("cumsum", "diff", "ema")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}


class Expression:
    """A parsed expression. Raises BadExpression if it cannot be parsed."""

    def __init__(self, text: str) -> None:
        if len(text) > _MAX_LENGTH:
            raise BadExpression(f"The expression has {len(text)} characters; use at most {_MAX_LENGTH}.")
        parser = _Parser(text)
        self._node = parser.parse()
        self.leaves = tuple(dict.fromkeys(parser.leaves))
        if not self.leaves:
            raise BadExpression("The expression has no tag. Write one, such as exp(train/loss).")

    def evaluate(self, values: Values) -> Floats:
        """The value at each step. NaN where it is not defined; infinite where it overflows."""
        with np.errstate(all="ignore"):
            found: Floats = np.asarray(self._node(values), np.float64)
        return found


@lru_cache(256)
def parse(text: str) -> Expression:
    """The same expression is computed for every run, and parsed once. Raises BadExpression."""
    return Expression(text)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0
        self.leaves: list[Leaf] = []

    def parse(self) -> Node:
        node = self._sum()
        if self._kind != "end":
            raise self._error("an operator")
        return node

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def _value(self) -> str:
        return self._tokens[self._at][1]

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _is(self, *operators: str) -> bool:
        return self._kind == "operator" and self._value in operators

    def _expect(self, operator: str) -> None:
        if not self._is(operator):
            raise self._error(f"{operator!r}")
        self._next()

    def _error(self, expected: str) -> BadExpression:
        position = self._tokens[self._at][2]
        return BadExpression(f"Expected {expected} at character {position + 1} of {self._text!r}.")

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise BadExpression("The expression has too many parentheses.")
        node = self._product()
        while self._is("+", "-"):
            node = _binary(self._next(), node, self._product())
        self._depth -= 1
        return node

    def _product(self) -> Node:
        node = self._power()
        while self._is("*", "/"):
            node = _binary(self._next(), node, self._power())
        return node

    def _power(self) -> Node:
        if self._is("-"):
            self._next()
            inner = self._power()
            return lambda values: np.negative(inner(values))
        node = self._atom()
        if self._is("^"):
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise BadExpression("The expression has too many powers.")
            node = _binary(self._next(), node, self._power())
            self._depth -= 1
        return node

    def _atom(self) -> Node:
        kind = self._kind
        if kind == "number":
            number = float(self._next())
            return lambda values: number
        if kind == "text":
            return self._leaf(Leaf(self._next()[1:-1]))
        if kind == "tag":
            name = self._next()
            return self._call(name) if self._is("(") else self._leaf(Leaf(name))
        if self._is("("):
            self._next()
            node = self._sum()
            self._expect(")")
            return node
        raise self._error("a tag, a number or a function")

    def _leaf(self, leaf: Leaf) -> Node:
        self.leaves.append(leaf)
        return lambda values: values[leaf]

    def _call(self, name: str) -> Node:
        self._next()
        if name == "run":
            return self._other_run()
        if name not in FUNCTIONS:
            raise BadExpression(f"Unknown function {name!r}. Use one of: {', '.join((*FUNCTIONS, 'run'))}.")
        arguments = [self._sum()]
        while self._is(","):
            self._next()
            arguments.append(self._sum())
        self._expect(")")
        count, function = FUNCTIONS[name]
        if len(arguments) != count:
            raise BadExpression(f"{name} takes {count} argument{'s' * (count > 1)}, not {len(arguments)}.")
        if name in _SERIES_FUNCTIONS:
            return lambda values: function(_series(arguments[0](values), values), *(a(values) for a in arguments[1:]))
        return lambda values: function(*(argument(values) for argument in arguments))

    def _other_run(self) -> Node:
        if self._kind != "text":
            raise self._error("the name of a run in quotes")
        run = self._next()[1:-1]
        self._expect(",")
        if self._kind not in ("tag", "text"):
            raise self._error("a tag")
        tag = self._next()
        self._expect(")")
        return self._leaf(Leaf(tag.strip("\"'"), run))


def _series(value: Any, values: Values) -> Floats:
    """A value at each step, also if it is a constant."""
    return np.broadcast_to(np.asarray(value, np.float64), next(iter(values.values())).shape)


def _binary(operator: str, left: Node, right: Node) -> Node:
    function = _OPERATORS[operator]
    return lambda values: function(left(values), right(values))


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            position = at + len(text[at:]) - len(text[at:].lstrip())
            raise BadExpression(
                f"Unexpected {text[position]!r} at character {position + 1} of {text!r}. Write tags with unusual "
                "characters in quotes."
            )
        kind = str(match.lastgroup)
        yield kind, match[kind], match.start(kind)
        at = match.end()
    yield "end", "", len(text)
