"""watch: measures a torch training from outside its loop, with hooks on the model and the optimizer.

What is measured is in measurements/. All of it stays on the tensors' device and is logged without waiting for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pulseboard.instruments.watch.histograms import HISTOGRAM_TAGS, Histograms
from pulseboard.instruments.watch.hooks import CompiledCall, Hook, with_closure
from pulseboard.instruments.watch.measurement import Measurement, all_measurements
from pulseboard.instruments.watch.module_tree import module_tree
from pulseboard.instruments.watch.networks import networks_of
from pulseboard.instruments.watch.parameters import Parameters
from pulseboard.instruments.watch.processor_wait import ProcessorWait
from pulseboard.instruments.watch.schedule import Schedule, parse_overhead
from pulseboard.instruments.watch.shard_exchange import ShardExchange
from pulseboard.instruments.watch.step_clock import StepClock
from pulseboard.instruments.watch.training import Training
from pulseboard.instruments.watch.training_context import autocast_dtype, training_context
from pulseboard.instruments.watch.wrappers import unwrapped_optimizer
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
    prefix: str | None = None,
) -> Watch:
    """Measure `model` while `optimizer` trains it, and log to a run. `close` removes the hooks.

    Both may be wrapped by accelerate, Lightning, DDP or torch.compile. Watching a model again ends the earlier watch.

    run                 the run to log to; the one started last if None
    scaler              the GradScaler of mixed precision, for `amp/…`
    clip_norm           the norm that the loop clips to, for the run's configuration
    overhead            the share of step time that watching may take; None sets no limit
    histogram_interval  steps between histograms of parameters and gradients; the run's setting if None; 0: none
    histogram_tags      the tags of parameters and of gradients, with {name} for the parameter's name
    dead_units          count dead units of activation modules
    every               overrides cadences: a number of steps for all measurements, or by name; 0: never
    start_step          the first step, for a loop that resumes and logs nothing itself
    prefix              before every tag, as in `generator/train/…`. Without it, the networks of a run that watches
                        several are named after their classes
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
        None if optimizer is None else unwrapped_optimizer(optimizer),
        run=run,
        scaler=scaler,
        clip_norm=clip_norm,
        budget=parse_overhead(overhead),
        histogram_interval=run.settings.histogram_interval if histogram_interval is None else histogram_interval,
        histogram_tags=histogram_tags,
        dead_units=dead_units,
        cadences=cadences,
        start_step=start_step,
        prefix=prefix,
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
        prefix: str | None,
    ) -> None:
        import torch

        self._networks = networks_of(run)
        if (earlier := self._networks.of_model(model)) is not None:
            earlier.close()
            start_step = max(start_step, earlier.next_step)
        parameters = Parameters(torch, model)
        exchange = _exchange(torch, run, parameters) if parameters.shards.sharded else None
        # The ranks of a sharded model add up their shares, so all of them must measure at the same steps.
        self.schedule = Schedule(budget=None if exchange else budget, early_steps=EARLY_STEPS, waited=ProcessorWait())
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
            exchange=exchange,
            close=self.close,
        )
        self._networks.add(self._training, prefix)
        self._measurements: list[Measurement] = []
        for id, cls in all_measurements().items():
            if not cls.per_rank or run.rank.world_size > 1:
                early_every = EARLY_EVERY if id not in cadences else None
                self.schedule.add(id, every=cadences.get(id, cls.every), early_every=early_every)
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
        self._clip_norm = clip_norm
        self._forward_passes = 0
        self._describe()
        self._install_hooks()

    def _describe(self) -> None:
        """Record the setup and the modules. The sizes of lazy modules are known only after the first step."""
        training, run = self._training, self._run
        training.context |= training_context(
            training.model,
            training.optimizer,
            scaler=training.scaler,
            clip_norm=self._clip_norm,
            world_size=run.rank.world_size,
        )
        run.update_config(watch=self._networks.config())
        if not training.parameters.lazy:
            run.save_modules(lambda: module_tree(training.model))

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
        id, step = f"{declared.id} {variant}".strip(), self._training.cadence_step
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
        self._networks.remove(self._training)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ---- hooks

    def _install_hooks(self) -> None:
        model, optimizer = self._training.model, self._training.optimizer
        if getattr(model, "_compiled_call_impl", None) is not None:
            before, after = self._hook(self._forward_begins), self._hook(self._forward_ended)
            self._handles.append(CompiledCall(model, before=before, after=after))
        else:
            self._add_hook(
                lambda hook: model.register_forward_pre_hook(hook, with_kwargs=True),
                self._forward_begins,
            )
            self._add_hook(model.register_forward_hook, self._forward_ended)
        if optimizer is not None:
            begins, ended = (self._hook(hook, breaks_graph=True) for hook in (self._step_begins, self._step_ended))
            self._handles += optimizer.register_step_pre_hook(begins), optimizer.register_step_post_hook(ended)
        for each in self._measurements:
            each.install(self._add_hook)

    def _add_hook(self, register: Callable[..., Any], hook: Callable[..., Any]) -> Callable[[], None]:
        handle = register(self._hook(hook))
        self._handles.append(handle)

        def remove() -> None:
            handle.remove()
            if handle in self._handles:
                self._handles.remove(handle)

        return remove

    def _hook(self, hook: Callable[..., Any], *, breaks_graph: bool = False) -> Hook:
        def stop(error: Exception) -> None:
            self._stop(error, hook.__qualname__)

        return Hook(self._training.torch, self.schedule.timed(hook), on_error=stop, breaks_graph=breaks_graph)

    def _stop(self, error: Exception, hook: str) -> None:
        warn_once(f"watch {hook}", f"watch() stopped because a hook failed: {type(error).__name__}: {error}.")
        self.close()

    def _forward_begins(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not model.training:
            self._clock.evaluated()
            return
        self._forward_passes += 1
        self._clock.forward_begins(args, kwargs)
        training = self._training
        if not training.steps_done and training.parameters.all:
            self._autocast_dtype = autocast_dtype(training.torch, training.parameters.all[0][1].device.type)
        for each in self._at_forward:
            each.forward_begins()

    def _forward_ended(self, model: nn.Module, args: Any, output: Any) -> None:
        if model.training:
            self._clock.forward_ended()

    def _step_begins(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Measure the gradients: now, or if a closure computes them within the step, after its first call."""
        with_measuring = with_closure(args, kwargs, self._measuring)
        if with_measuring is None:
            self._gradients_ready()
        return with_measuring

    def _measuring(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        measure: Callable[[], Any] | None = self._hook(self._gradients_ready)

        def measured_closure() -> Any:
            nonlocal measure
            loss = closure()
            if measure is not None:
                measure()
                measure = None
            return loss

        return measured_closure

    def _gradients_ready(self) -> None:
        step = self._training.cadence_step
        self._clock.backward_ended()
        for each in () if self.schedule.idle(step) else self._before_step:
            if self.schedule.due(each.id, step):
                # One that continues after the step stays due, and both halves count as one measurement.
                done = each not in self._after_step
                with self.schedule.running(each.id, step, done=done), self._training.torch.no_grad():
                    self._values.update(each.before_step())
        self._clock.optimizer_begins()

    def _step_ended(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        training = self._training
        step, cadence_step = training.step, training.cadence_step
        self._clock.step_ended()
        for each in () if self.schedule.idle(cadence_step) else self._after_step:
            if self.schedule.due(each.id, cadence_step):
                with self.schedule.running(each.id, cadence_step), training.torch.no_grad():
                    values = each.after_step()
                    if each.per_rank:
                        training.log(values, step, per_rank=True)
                    else:
                        self._values.update(values)
        if self._values:
            values, self._values = self._values, {}
            training.log(values, step)
        if not training.steps_done:
            training.optimizer = optimizer
            self._first_step_ended()
        training.next_step = step + 1
        training.steps_done += 1
        self.schedule.step_ended()
        for each in self._at_step_end:
            each.step_ended()

    def _first_step_ended(self) -> None:
        """Add the precision to the run's configuration: what autocast does is known only now."""
        parameters, context = self._training.parameters.all, self._training.context
        dtype = str(parameters[0][1].dtype).removeprefix("torch.") if parameters else "float32"
        context |= {
            "amp": context["amp"] or self._autocast_dtype is not None,
            "precision": self._autocast_dtype or dtype,
        }
        if "parameters" in context and "optimizer" in context:
            self._run.update_config(watch=self._networks.config())
        else:
            self._describe()
        if not self._forward_passes:
            warn_once(
                "watch forward",
                f"watch() sees no forward pass of {type(self._training.model).__name__}: its time, throughput and dead "
                "units are not logged. If it is compiled, pass what torch.compile returned to watch(); "
                "otherwise watch the module that the loop calls.",
            )


def _exchange(torch: Any, run: ActiveRun, parameters: Parameters) -> ShardExchange:
    layout = repr([(name, tuple(p.shape)) for name, p in parameters.all])
    return ShardExchange(torch, run, ranks=parameters.shards.ranks(), layout=layout)


def _counters_or_none() -> Any:
    try:
        return open_counters()
    except ImportError:  # neither /proc nor psutil
        return None
