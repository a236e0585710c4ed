"""Language models: what a GPT's training logs at each step and at each evaluation, by the names guides give it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pulseboard.instruments.arrays import floats, mean
from pulseboard.instruments.declare import Metric, instrument


@instrument(
    id="language_model_step",
    every=1,
    metrics={
        "Loss/train": Metric("nats", "cross-entropy of the batch, a token", "falls from ln of the vocabulary's size"),
        "Learning_Rate/lr": Metric("1", "learning rate of the step", "rises in a line at first, then falls smoothly"),
        "Gradient/norm": Metric("1", "L2 norm of all gradients after clipping", "0.3-1 if clipped to 1; few spikes"),
        "Performance/step_time_ms": Metric("ms", "time of the step", "steady"),
        "Performance/tokens_per_sec": Metric("1/s", "tokens trained on in a second, of all ranks", "steady"),
        "Training/epoch": Metric("epochs", "epoch under way, counted from 0", "rises by one"),
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
    """One step's numbers; what is not passed is left out.

    `gradient_norm` is what `clip_grad_norm_` returned, so before clipping: with `clip_norm` it is cut to that.
    `tokens` are those of the step, which with `step_secs` give tokens a second.
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
        "Loss/validation": Metric("nats", "cross-entropy of text that is not trained on, a token", "a little above"),
        "Evaluation/hellaswag_accuracy": Metric(
            "1", "share of HellaSwag's sentences continued rightly", "0.25 by chance, and rising slowly"
        ),
    },
)
def evaluation(losses: Any, *, hellaswag_correct: Any = None) -> dict[str, Any]:
    """The mean of the validation losses, and of what was right of each HellaSwag question (1 or 0), if passed."""
    found: dict[str, Any] = {"Loss/validation": mean(floats(losses))}
    if hellaswag_correct is not None:
        found["Evaluation/hellaswag_accuracy"] = mean(floats(hellaswag_correct))
    return found


@instrument(
    id="generated_samples",
    every=250,
    metrics={
        "Generated_Samples/text": Metric(
            "text", "what the model writes by itself", "letters, then words, then sentences, then sense"
        ),
    },
)
def generated_samples(samples: str | Iterable[str], *, prompt: str | None = None) -> dict[str, str]:
    """Samples as one Markdown text by its tag, for `run.text`: each one quoted as it is, below its prompt."""
    each = [samples] if isinstance(samples, str) else list(samples)
    head = [] if prompt is None else [f"Prompt: {prompt}"]
    return {"Generated_Samples/text": "\n\n".join([*head, *(_fenced(sample) for sample in each)])}


def _fenced(text: str) -> str:
    """Text that Markdown leaves alone, whatever marks a young model writes."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
