"""`from pulseboard.instruments import …`: short names, loaded on first use, with the old module paths still working."""

import importlib
import subprocess
import sys
import warnings

import pytest

import pulseboard._moved
from pulseboard import instruments


@pytest.mark.parametrize("name", instruments.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(instruments, name) is not None
    assert name in dir(instruments)


def test_language_model_is_a_module():
    assert instruments.language_model.step.declared.id == "language_model_step"


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = instruments.nothing


def test_importing_an_old_path_leaves_the_short_name_as_it_is():
    old_paths = [path for path in pulseboard._moved.MOVED if path.startswith("pulseboard.instruments.")]
    assert len(old_paths) > 15
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for path in old_paths:
            module = importlib.import_module(path)
            name = path.rpartition(".")[2]
            if name in instruments.__all__ and name != "language_model":
                assert getattr(instruments, name) is getattr(module, name), path


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, pulseboard.instruments; assert not {'numpy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
