"""Integrations where their framework is not installed."""

import importlib
import sys

import pytest

from pulseboard.core.errors import MissingPackage


@pytest.mark.parametrize("name", ["lightning", "transformers", "keras", "accelerate"])
def test_a_framework_that_is_not_installed_is_named_with_what_to_install(name, monkeypatch):
    for hidden in {name, "lightning.pytorch", "pytorch_lightning"} if name == "lightning" else {name}:
        for module in [module for module in sys.modules if module == hidden or module.startswith(f"{hidden}.")]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, hidden, None)  # what makes an import fail
    monkeypatch.delitem(sys.modules, f"pulseboard.integrations.{name}", raising=False)
    with pytest.raises(MissingPackage, match=rf'needs {name}, .* pip install "pulseboard\[{name}\]"'):
        importlib.import_module(f"pulseboard.integrations.{name}")
