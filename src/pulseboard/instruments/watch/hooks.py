"""Hooks that a watched training cannot notice: they never raise, are never traced, and are never copied."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

# Takes any positional arguments and returns None. From the standard library, so that a model that was saved while it
# was watched can be loaded where Pulseboard is not installed.
_NO_HOOK = contextlib.nullcontext().__exit__


class Hook:
    """A hook on a model or an optimizer. A copy of it, whether in memory or in a file, does nothing.

    torch.compile does not see it: inside a compiled graph it is not called, so the graph is that of an unwatched model
    and `fullgraph=True` works. With `breaks_graph` it is called there too: the step of an optimizer never is one graph.
    """

    def __init__(
        self,
        torch: Any,
        call: Callable[..., Any],
        *,
        on_error: Callable[[Exception], None],
        breaks_graph: bool = False,
    ) -> None:
        def never_raise(*args: Any) -> Any:
            try:
                return call(*args)
            except Exception as error:
                on_error(error)
                return None

        self._is_compiling: Callable[[], bool] = torch.compiler.is_compiling
        self._breaks_graph = breaks_graph
        # Where a compiled model returns to Python, dynamo would compile this too.
        self._uncompiled = torch.compiler.disable(never_raise)
        self._call = never_raise
        self._dynamo = _dynamo_callback(torch)

    def __call__(self, *args: Any) -> Any:
        if self._is_compiling():
            return self._uncompiled(*args) if self._breaks_graph else None
        return self._call(*args) if self._dynamo() is None else self._uncompiled(*args)

    def __deepcopy__(self, memo: Any) -> Any:
        return _NO_HOOK

    def __reduce__(self) -> Any:
        return getattr, (contextlib.nullcontext(), "__exit__")


def _dynamo_callback(torch: Any) -> Callable[[], Any]:
    """Returns None while dynamo is off in this thread, so that a hook costs less. Where torch lacks it: never None."""
    try:
        callback: Callable[[], Any] = torch._C._dynamo.eval_frame.get_eval_frame_callback
        callback()
    except Exception:
        return bool
    return callback


class CompiledCall:
    """Calls a model that was compiled in place (`model.compile()`), with hooks around the compiled code."""

    def __init__(self, model: Any, *, before: Callable[..., Any], after: Callable[..., Any]) -> None:
        self._model, self._original = model, model._compiled_call_impl
        original = self._original

        def call(*args: Any, **kwargs: Any) -> Any:
            before(model, args, kwargs)
            output = original(*args, **kwargs)
            after(model, args, output)
            return output

        self._call = model._compiled_call_impl = call

    def remove(self) -> None:
        """Call the compiled code directly again, unless it was replaced in the meantime."""
        if self._model._compiled_call_impl is self._call:
            self._model._compiled_call_impl = self._original


def with_closure(
    args: tuple[Any, ...], kwargs: dict[str, Any], wrap: Callable[[Callable[[], Any]], Callable[[], Any]]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of `optimizer.step`, the optimizer first, with the closure wrapped; None if there is no closure."""
    if callable(kwargs.get("closure")):
        return args, {**kwargs, "closure": wrap(kwargs["closure"])}
    if len(args) > 1 and callable(args[1]):
        return (args[0], wrap(args[1]), *args[2:]), kwargs
    return None
