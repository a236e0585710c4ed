"""The public functions of `pulseboard`: real functions with full signatures, whatever has been imported."""

import importlib
import inspect
import subprocess
import sys

import pytest

import pulseboard as pb
from pulseboard._moved import MOVED


@pytest.mark.parametrize("name", ["read", "diagnose", "serve", "init", "watch", "current_run"])
def test_a_public_function_names_every_parameter(name):
    signature = inspect.signature(getattr(pb, name))
    loose = [p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD and name != "init"]
    assert inspect.isfunction(getattr(pb, name))
    assert loose == []


@pytest.mark.parametrize("name", ["read", "diagnose", "serve"])
def test_importing_the_package_of_the_same_name_leaves_the_function_in_place(name):
    code = (
        f"import pulseboard as pb, importlib, inspect\n"
        f"package = importlib.import_module('pulseboard.{name}')\n"
        f"assert inspect.ismodule(package) and inspect.isfunction(pb.{name}), (package, pb.{name})\n"
        f"from pulseboard import {name}\n"
        f"assert {name} is pb.{name}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_serve_has_the_options_and_defaults_of_the_server_settings():
    import dataclasses

    from pulseboard.serve import settings

    classes = [c for c in vars(settings).values() if dataclasses.is_dataclass(c) and c.__module__ == settings.__name__]
    (fields,) = ([f for f in dataclasses.fields(c) if f.init] for c in classes)
    options = inspect.signature(pb.serve).parameters
    assert {f.name: f.default for f in fields} == {
        name: p.default for name, p in options.items() if name not in ("paths", "block")
    }


@pytest.mark.parametrize("old", sorted(MOVED))
def test_a_moved_module_is_found_under_its_old_name(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=MOVED[old]):
        module = importlib.import_module(old)
    assert module is importlib.import_module(MOVED[old])
