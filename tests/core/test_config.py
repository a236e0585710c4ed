"""Configurations as mappings, and flat."""

import argparse
from dataclasses import dataclass

from pulseboard.core.config import as_mapping, flatten


def test_nested_names_are_joined_in_order():
    config = {"model": {"layers": 2, "heads": {"count": 4}}, "lr": 0.1}
    assert list(flatten(config)) == [("model.layers", 2), ("model.heads.count", 4), ("lr", 0.1)]
    assert list(flatten(config, separator="/"))[1] == ("model/heads/count", 4)


def test_empty_mappings_and_lists_are_values():
    assert list(flatten({"a": {}, "b": {"c": []}})) == [("a", {}), ("b.c", [])]


def test_mappings_below_the_deepest_level_are_values():
    assert list(flatten({"a": {"b": {"c": 1}}}, max_depth=1)) == [("a.b", {"c": 1})]
    assert list(flatten({"a": {"b": 1}}, max_depth=1)) == [("a.b", 1)]


def test_depth_is_not_limited_by_recursion():
    config: dict = {"x": 1}
    for _ in range(5000):
        config = {"a": config}
    ((name, value),) = flatten(config)
    assert (len(name), value) == (2 * 5000 + 1, 1)


def test_any_object_becomes_a_mapping():
    @dataclass
    class Config:
        lr: float = 0.1

    assert as_mapping(None) == {}
    assert as_mapping({"lr": 0.1}) == {"lr": 0.1}
    assert as_mapping(Config()) == {"lr": 0.1}
    assert as_mapping(argparse.Namespace(lr=0.1, _private=1)) == {"lr": 0.1}
