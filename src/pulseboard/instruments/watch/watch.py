"""watch: measures a torch training from outside its loop, with hooks on the model and the optimizer.

What is measured is in measurements/. All of it stays on the tensors' device and is logged without waiting for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pulseboard.instruments.watch.histograms import HISTOGRAM_TAGS, Histograms
from pulseboard.instruments.watch.measurement import Measurement, all_measurements
from pulseboard.instruments.watch.module_tree import module_tree
from pulseboard.instruments.watch.parameters import Parameters
from pulseboard.instruments.watch.schedule import Schedule, parse_overhead
from pulseboard.instruments.watch.step_clock import StepClock
from pulseboard.instruments.watch.training import Training
from pulseboard.instruments.watch.training_context import autocast_dtype, training_context
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.messages import warn_once
from pulseboard.record.run import current_run
from pulseboard.record.telemetry.counters import open_counters

if TYPE_CHECKING:
    import torch
    from torch import nn

# At first everything is measured at least this often, so that short runs have curves too.
EARLY_STEPS, EARLY_EVERY = 100, 10


def watch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    run: ActiveRun | None = None,
    scaler: Any = None,
    clip_norm: float | None = None,
    overhead: str | float | None = "1%",
    histogram_interval: int | None = None,
    histogram_tags: tuple[str, str] = HISTOGRAM_TAGS,
    dead_units: bool = False,
    every: int | dict[str, int] | None = None,
    start_step: int = 0,
) -> Watch:
    """Measure `model` while `optimizer` trains it, and log to a run. `close` removes the hooks.

    run                 the run to log to; the one started last if None
    scaler              the GradScaler of mixed precision, for `amp/…`
    clip_norm           the norm that the loop clips to, for the run's configuration
    overhead            the share of step time that all measurements together may take; None sets no limit
    histogram_interval  steps between histograms of parameters and gradients; the run's setting if None; 0: none
    histogram_tags      the tags of parameters and of gradients, with {name} for the parameter's name
    dead_units          count dead units of activation modules
    every               overrides cadences: a number of steps for all measurements, or by name; 0: never
    start_step          the first step, for a loop that resumes and logs nothing itself
    """
    run = run or current_run()
    if run is None:
        raise ValueError("watch() has no run to log to. Call pulseboard.init() first, or pass run=.")
    names = all_measurements()
    cadences = dict.fromkeys(names, every) if isinstance(every, int) else dict(every or {})
    unknown = set(cadences) - set(names)
    if unknown:
        raise ValueError(f"watch() has no measurement {sorted(unknown)[0]!r}. Choose from: {', '.join(names)}.")
    if len(histogram_tags) != 2 or not all("{name}" in tag for tag in histogram_tags):
        raise ValueError(f"histogram_tags must be two tags with {{name}} in each, such as {HISTOGRAM_TAGS!r}.")
    return Watch(
        model,
        optimizer,
        run=run,
        scaler=scaler,
        clip_norm=clip_norm,
        budget=parse_overhead(overhead),
        histogram_interval=run.settings.histogram_interval if histogram_interval is None else histogram_interval,
        histogram_tags=histogram_tags,
        dead_units=dead_units,
        cadences=cadences,
        start_step=start_step,
    )


class Watch:
    """The hooks on one model and one optimizer. A failure is reported once and never reaches the training loop."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer | None,
        *,
        run: ActiveRun,
        scaler: Any,
        clip_norm: float | None,
        budget: float | None,
        histogram_interval: int,
        histogram_tags: tuple[str, str],
        dead_units: bool,
        cadences: dict[str, int],
        start_step: int,
    ) -> None:
        import torch

        parameters = Parameters(torch, model)
        # The ranks of a sharded model add up their shares, so all of them must measure at the same steps.
        self.schedule = Schedule(budget=None if parameters.shards.sharded else budget, early_steps=EARLY_STEPS)
        self._run, self._clock = run, StepClock()
        self._training = Training(
            torch=torch,
            model=model,
            optimizer=optimizer,
            scaler=scaler,
            run=run,
            parameters=parameters,
            schedule=self.schedule,
            clock=self._clock,
            counters=_counters_or_none(),
            watches_dead_units=dead_units,
            next_step=start_step,
        )
        self._measurements: list[Measurement] = []
        for id, cls in all_measurements().items():
            early_every = EARLY_EVERY if id not in cadences else None
            self.schedule.add(id, every=cadences.get(id, cls.every), early_every=early_every)
            if not cls.per_rank or run.rank.world_size > 1:
                self._measurements.append(cls(self._training))
        self.schedule.add(Histograms.id, every=histogram_interval)
        self._measurements.append(Histograms(self._training, tags=histogram_tags))
        self._at_forward = self._overriding("forward_begins")
        self._before_step = self._overriding("before_step")
        self._after_step = self._overriding("after_step")
        self._at_step_end = self._overriding("step_ended")
        self._values: dict[str, Any] = {}  # measured in this step, not logged yet
        self._autocast_dtype: str | None = None
        self._handles: list[Any] = []
        self._context = training_context(
            model, optimizer, scaler=scaler, clip_norm=clip_norm, world_size=run.rank.world_size
        )
        run.update_config(watch=self._context)
        run.save_modules(lambda: module_tree(model))
        self._install_hooks()

    def _overriding(self, method: str) -> list[Measurement]:
        """The measurements that define `method`; the others need no call at each step."""
        return [m for m in self._measurements if getattr(type(m), method) is not getattr(Measurement, method)]

    def measure(self, instrument: Callable[..., dict[str, Any]], *args: Any, **kwargs: Any) -> bool:
        """Call an instrument if it is due, and log its values with the current step. Returns whether it was called.

        Each level and each data set has its own cadence.
        """
        declared = getattr(instrument, "declared", None)
        if declared is None:
            raise ValueError(
                f"{instrument!r} is not declared as an instrument. Decorate it with pulseboard.instruments.instrument."
            )
        variant = ", ".join(f"{key}={kwargs[key]}" for key in ("level", "name", "prefix") if key in kwargs)
        id, step = f"{declared.id} {variant}".strip(), self._training.step
        if id not in self.schedule:
            self.schedule.add(id, every=declared.every)
        if not self.schedule.due(id, step):
            return False
        with self.schedule.running(id, step), self._training.torch.no_grad():
            self._values.update(instrument(*args, **kwargs))
        return True

    def close(self) -> None:
        """Remove every hook. Values that were measured stay logged."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ---- hooks

    def _install_hooks(self) -> None:
        model, optimizer = self._training.model, self._training.optimizer
        self._add_hook(
            lambda hook: model.register_forward_pre_hook(hook, with_kwargs=True),
            self._forward_begins,
        )
        self._add_hook(model.register_forward_hook, self._forward_ended)
        if optimizer is not None:
            self._add_hook(optimizer.register_step_pre_hook, self._step_begins)
            self._add_hook(optimizer.register_step_post_hook, self._step_ended)
        for each in self._measurements:
            each.install(self._add_hook)

    def _add_hook(self, register: Callable[..., Any], hook: Callable[..., None]) -> None:
        def never_raise(*args: Any, **kwargs: Any) -> None:
            try:
                hook(*args, **kwargs)
            except Exception as error:
                message = f"watch() stopped because a hook failed: {type(error).__name__}: {error}."
                warn_once(f"watch {hook.__qualname__}", message)
                self.close()

        # Outside the compiled graph: clocks and logging must not be traced.
        self._handles.append(register(self._training.torch.compiler.disable(never_raise)))

    def _forward_begins(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not model.training:
            self._clock.evaluated()
            return
        self._clock.forward_begins(args, kwargs)
        training = self._training
        if not training.steps_done and training.parameters.all:
            self._autocast_dtype = autocast_dtype(training.torch, training.parameters.all[0][1].device.type)
        for each in self._at_forward:
            each.forward_begins()

    def _forward_ended(self, model: nn.Module, args: Any, output: Any) -> None:
        if model.training:
            self._clock.forward_ended()

    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        step = self._training.step
        self._clock.backward_ended()
        for each in self._before_step:
            if self.schedule.due(each.id, step):
                # One that continues after the step stays due, and both halves count as one measurement.
                done = each not in self._after_step
                with self.schedule.running(each.id, step, done=done), self._training.torch.no_grad():
                    self._values.update(each.before_step())
        self._clock.optimizer_begins()

    def _step_ended(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        step = self._training.step
        self._clock.step_ended()
        for each in self._after_step:
            if self.schedule.due(each.id, step):
                with self.schedule.running(each.id, step), self._training.torch.no_grad():
                    values = each.after_step()
                    if each.per_rank:
                        self._run.log_measurements(values, step, per_rank=True)
                    else:
                        self._values.update(values)
        if self._values:
            values, self._values = self._values, {}
            self._run.log_measurements(values, step)
        if not self._training.steps_done:
            self._record_precision()
        for each in self._at_step_end:
            each.step_ended()
        self._training.next_step = step + 1
        self._training.steps_done += 1
        self.schedule.step_ended()

    def _record_precision(self) -> None:
        """Add the precision to the run's configuration. What autocast does is known only after the first step."""
        parameters = self._training.parameters.all
        dtype = str(parameters[0][1].dtype).removeprefix("torch.") if parameters else "float32"
        self._context |= {
            "amp": self._context["amp"] or self._autocast_dtype is not None,
            "precision": self._autocast_dtype or dtype,
        }
        self._run.update_config(watch=self._context)


def _counters_or_none() -> Any:
    try:
        return open_counters()
    except ImportError:  # neither /proc nor psutil
        return None
