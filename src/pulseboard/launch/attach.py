"""Inside the training: watches the model of each torch optimizer from its first step on."""

from __future__ import annotations

import contextlib
import gc
import os
from pathlib import Path
from typing import Any

from pulseboard.launch import environment

# A training with more optimizers than this is watched in part.
_MAX_OPTIMIZERS = 8


def await_first_step(optimizer_module: Any) -> None:
    """Watch every optimizer after its first step. The hook is torch's own, for all optimizers of the process."""
    seen: set[int] = set()

    def after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if id(optimizer) in seen or len(seen) >= _MAX_OPTIMIZERS:
            return
        seen.add(id(optimizer))
        # A training never ends or changes because it is watched.
        with contextlib.suppress(Exception):
            _watch(optimizer)

    optimizer_module.register_optimizer_step_post_hook(after_step)


def await_keras(module: Any) -> None:
    """Watch every Keras optimizer of the torch backend after its first step."""
    from pulseboard.launch import keras_optimizer

    keras_optimizer.await_first_step(module, _watch)


def _watch(optimizer: Any) -> bool:
    """Watch the model that an optimizer trains; False if there is none, or another process is watched."""
    run = attached_run()
    model = model_of(optimizer)
    if run is None or model is None:
        return False
    from pulseboard.instruments.watch.watch import watch

    watch(model, optimizer, run=run, start_step=1)
    return True


_run: Any = None
_process = 0


def attached_run() -> Any:
    """The run to log to, in the one process of the training that may: the first that trains, and rank 0 of several."""
    global _run, _process
    if _process == os.getpid():
        return _run
    _process, _run = os.getpid(), None
    directory = os.environ.get(environment.RUN_DIRECTORY)
    if directory and os.environ.get("RANK", "0") == "0" and _claim(Path(directory)):
        from pulseboard.launch.attached_run import attach_to

        _run = attach_to(Path(directory), telemetry_secs=float(os.environ.get(environment.TELEMETRY_SECS, "0")))
    return _run


def _claim(directory: Path) -> bool:
    try:
        with open(directory / environment.CLAIM_FILE, "x", encoding="utf-8") as stream:
            stream.write(str(os.getpid()))
    except OSError:
        return False
    return True


def model_of(optimizer: Any) -> Any:
    """The module that holds most of the parameters that an optimizer trains, with all that contain them.

    A training does not say which module that is, so all objects of the process are searched, once.
    """
    from torch import nn

    trained = {id(p) for group in optimizer.param_groups for p in group["params"]}
    found = [one for one in gc.get_objects() if issubclass(type(one), nn.Module)]
    held = {id(one): len(trained & {id(p) for p in one.parameters()}) for one in found}
    most = max(held.values(), default=0)
    if not most:
        return None
    whole = [one for one in found if held[id(one)] == most]
    inner = {id(child) for one in whole for child in one.modules() if child is not one}
    # The outermost of those that hold all of it; a wrapper such as DDP is unwrapped by `watch`.
    return next((one for one in whole if id(one) not in inner), whole[0])
