"""Calls that torch's SummaryWriter and ours must refuse alike."""

import pytest
from torch.utils import tensorboard as torch_tensorboard

from pulseboard.record.compat.summary_writer import SummaryWriter


def both_raise(tmp_path, error, call):
    """The call is wrong for torch's writer, and for ours in the same way."""
    for name, writer_class in (("torch", torch_tensorboard.SummaryWriter), ("ours", SummaryWriter)):
        with writer_class(str(tmp_path / name)) as writer, pytest.raises(error):
            call(writer)
