"""Language models: what a GPT training logs at each step and each evaluation, under the usual tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import floats, mean
from pulseboard.instruments.registry import instrument


@instrument(
    id="language_model_step",
    every=1,
    metrics={
        "Loss/train": Metric("nats", "cross-entropy per token of the batch", "falls from ln of the vocabulary size"),
        "Learning_Rate/lr": Metric("1", "learning rate of the step", "rises linearly at first, then falls smoothly"),
        "Gradient/norm": Metric("1", "L2 norm of all gradients after clipping", "0.3-1 if clipped to 1; few spikes"),
        "Performance/step_time_ms": Metric("ms", "time of the step", "steady"),
        "Performance/tokens_per_sec": Metric("1/s", "training tokens per second, over all ranks", "steady"),
        "Training/epoch": Metric("epochs", "current epoch, counted from 0", "rises by one"),
    },
)
def step(
    loss: Any,
    *,
    lr: Any = None,
    gradient_norm: Any = None,
    clip_norm: float | None = None,
    step_secs: float | None = None,
    tokens: int | None = None,
    epoch: float | None = None,
) -> dict[str, Any]:
    """The values of one step; those not passed are left out.

    `gradient_norm` is what `clip_grad_norm_` returned, the norm before clipping; with `clip_norm` it is clipped to
    that. `tokens` is the number of tokens of the step; with `step_secs` it gives tokens per second.
    """
    found: dict[str, Any] = {"Loss/train": mean(floats(loss))}
    if lr is not None:
        found["Learning_Rate/lr"] = lr
    if gradient_norm is not None:
        norm = floats(gradient_norm).reshape(())
        found["Gradient/norm"] = norm if clip_norm is None else norm.clip(max=clip_norm)
    if step_secs is not None:
        found["Performance/step_time_ms"] = 1000 * step_secs
        if tokens is not None:
            found["Performance/tokens_per_sec"] = tokens / step_secs if step_secs > 0 else float("nan")
    if epoch is not None:
        found["Training/epoch"] = epoch
    return found


@instrument(
    id="language_model_evaluation",
    every=250,
    metrics={
        "Loss/validation": Metric("nats", "cross-entropy per token of held-out text", "slightly above Loss/train"),
        "Evaluation/hellaswag_accuracy": Metric(
            "1", "share of correct HellaSwag endings", "0.25 by chance, rising slowly"
        ),
    },
)
def evaluation(losses: Any, *, hellaswag_correct: Any = None) -> dict[str, Any]:
    """The mean validation loss and, if passed, the mean of `hellaswag_correct` (1 or 0 for each question)."""
    found: dict[str, Any] = {"Loss/validation": mean(floats(losses))}
    if hellaswag_correct is not None:
        found["Evaluation/hellaswag_accuracy"] = mean(floats(hellaswag_correct))
    return found


@instrument(
    id="generated_samples",
    every=250,
    metrics={
        "Generated_Samples/text": Metric(
            "text", "text that the model generates", "letters, then words, then sentences, then meaning"
        ),
    },
)
def generated_samples(samples: str | Iterable[str], *, prompt: str | None = None) -> dict[str, str]:
    """All samples as one Markdown text for `run.text`: each in a code block, below the prompt."""
    each = [samples] if isinstance(samples, str) else list(samples)
    head = [] if prompt is None else [f"Prompt: {prompt}"]
    return {"Generated_Samples/text": "\n\n".join([*head, *(_fenced(sample) for sample in each)])}


def _fenced(text: str) -> str:
    """Text in a code block with a fence long enough for any backticks the model writes."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
