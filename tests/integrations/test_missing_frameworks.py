"""Integrations without their framework installed."""

import importlib
import sys

import pytest

from pulseboard.core.errors import MissingPackage


class Hidden:
    """Makes packages impossible to find."""

    def __init__(self, *packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        if name in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize("name", ["lightning", "transformers", "keras", "accelerate"])
def test_the_error_names_the_missing_framework_and_what_to_install(name, monkeypatch):
    packages = ("lightning", "pytorch_lightning") if name == "lightning" else (name,)
    for module in list(sys.modules):
        if module.partition(".")[0] in packages or module == f"pulseboard.integrations.{name}":
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Hidden(*packages), *sys.meta_path])
    with pytest.raises(MissingPackage, match=rf'needs {name}, .* pip install "pulseboard\[{name}\]"'):
        importlib.import_module(f"pulseboard.integrations.{name}")
