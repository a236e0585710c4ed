"""instruments: arrays and models in, numbers ready for `run.log` out.

`metrics/` holds one quantity per file, registered with tags, units, meaning, expected behavior and cadence
(registry.py). `watch/` is the engine behind `pb.watch`. Tensors may be on any device, and no instrument waits for it;
NumPy and JAX arrays work without torch. Instruments never change what they measure.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulseboard.core.metric import Metric
    from pulseboard.instruments.gpus import Gpu
    from pulseboard.instruments.metrics import language_model
    from pulseboard.instruments.metrics.allocator import allocator, segments
    from pulseboard.instruments.metrics.clipping import Clipping
    from pulseboard.instruments.metrics.collapse import collapse
    from pulseboard.instruments.metrics.effective_rank import effective_rank
    from pulseboard.instruments.metrics.ema import ema
    from pulseboard.instruments.metrics.epoch_loss import EpochLoss
    from pulseboard.instruments.metrics.evaluation import evaluation, loss_by_noise
    from pulseboard.instruments.metrics.hierarchy import hierarchy
    from pulseboard.instruments.metrics.loss_estimates import loss_estimates
    from pulseboard.instruments.metrics.losses import Convergence, hierarchical_losses
    from pulseboard.instruments.metrics.masking import masking
    from pulseboard.instruments.metrics.moe import moe
    from pulseboard.instruments.metrics.performance import performance
    from pulseboard.instruments.metrics.prediction import prediction
    from pulseboard.instruments.metrics.router import router
    from pulseboard.instruments.metrics.speed_of_light import ModelShape, flops, speed_of_light, speed_of_light_share
    from pulseboard.instruments.metrics.stability import Stability
    from pulseboard.instruments.registry import all_instruments, instrument

__all__ = [
    "Clipping",
    "Convergence",
    "EpochLoss",
    "Gpu",
    "Metric",
    "ModelShape",
    "Stability",
    "all_instruments",
    "allocator",
    "collapse",
    "effective_rank",
    "ema",
    "evaluation",
    "flops",
    "hierarchical_losses",
    "hierarchy",
    "instrument",
    "language_model",
    "loss_by_noise",
    "loss_estimates",
    "masking",
    "moe",
    "performance",
    "prediction",
    "router",
    "segments",
    "speed_of_light",
    "speed_of_light_share",
]

# The modules of the names above. A name that is not listed is in the module of the same name in metrics/.
_MODULES = {
    "Clipping": "metrics.clipping",
    "Convergence": "metrics.losses",
    "EpochLoss": "metrics.epoch_loss",
    "Gpu": "gpus",
    "Metric": "registry",
    "ModelShape": "metrics.speed_of_light",
    "Stability": "metrics.stability",
    "all_instruments": "registry",
    "flops": "metrics.speed_of_light",
    "hierarchical_losses": "metrics.losses",
    "instrument": "registry",
    "loss_by_noise": "metrics.evaluation",
    "segments": "metrics.allocator",
    "speed_of_light_share": "metrics.speed_of_light",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, f'metrics.{name}')}")
    value = module if name == "language_model" else getattr(module, name)  # language_model.step, .evaluation, …
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(types.ModuleType):
    """Keeps public names bound to instruments.

    Importing an old path such as `pulseboard.instruments.collapse` would set the attribute `collapse` to that module.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, types.ModuleType) and name in __all__ and name != "language_model":
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
