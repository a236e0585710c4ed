"""Surogate's logging interface: a training that uses it needs no other change than the import.

from pulseboard.surogate import _surogate        # was: from surogate import _surogate
logger = _surogate.TrainingRunLogger("log.json", callback=print, verbosity=_surogate.LogVerbosity.DEFAULT)
"""

from __future__ import annotations

import sys

from pulseboard.record.compat.training_run_logger import TrainingRunLogger as _TrainingRunLogger
from pulseboard.record.console.console import LogVerbosity

__all__ = ["LogVerbosity", "TrainingRunLogger", "_surogate"]

_surogate = sys.modules[__name__]


class TrainingRunLogger(_TrainingRunLogger):
    """`pb.TrainingRunLogger` with the argument names of Surogate's guide."""

    def log_step(
        self, step: int, epoch: float, tokens: int, duration_ms: float, norm: float, loss: float, lr: float
    ) -> None:
        """Log one training step."""
        super().log_step(step, epoch, tokens, duration_ms, norm, loss, lr)

    def log_eval(self, step: int, epoch: float, tokens: int, duration_ms: float, loss: float) -> None:
        """Log one evaluation."""
        super().log_eval(step, epoch, tokens, duration_ms, loss)

    def log_moe_stats(  # type: ignore[override]
        self,
        step: int,
        aux_loss: float,
        z_loss: float,
        utilization: float | None = None,
        imbalance: float | None = None,
        *,
        expert_utilization: float | None = None,
        load_imbalance: float | None = None,
        valid: bool = True,
    ) -> None:
        """Log the state of the routers. Also takes what get_moe_stats() returns: `log_moe_stats(step, **stats)`."""
        utilization = utilization if utilization is not None else expert_utilization
        imbalance = imbalance if imbalance is not None else load_imbalance
        if utilization is None or imbalance is None:
            raise TypeError("log_moe_stats needs utilization and imbalance")
        super().log_moe_stats(step, aux_loss, z_loss, utilization, imbalance, valid=valid)
