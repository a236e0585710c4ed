"""A character LSTM in plain PyTorch; the log is the text that the word-language-model example prints."""

import math
import time

import numpy as np

from zoo.foreign import toy_data
from zoo.foreign.base import Base, Crash, Training, main, stdout_to
from zoo.foreign.toy_models import freeze, one_thread
from zoo.foreign.truth import fault, harmless

CHARACTERS = sorted(set(" .\nabdefgiklmnoprstu"))
LENGTH, BATCH, LOG_INTERVAL = 24, 16, 10
WORDS = 300


def batchify(text: str):
    """The text as BATCH columns of token ids."""
    import torch

    number = {character: i for i, character in enumerate(CHARACTERS)}
    ids = torch.tensor([number[character] for character in text])
    n = len(ids) // BATCH
    return ids[: n * BATCH].view(BATCH, n).t().contiguous()


def language_model(hidden: int):
    """Embedding, LSTM and a linear layer."""
    from torch import nn

    class RNNModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Embedding(len(CHARACTERS), 32)
            self.rnn = nn.LSTM(32, hidden)
            self.decoder = nn.Linear(hidden, len(CHARACTERS))

        def forward(self, ids, state):
            output, state = self.rnn(self.encoder(ids), state)
            return self.decoder(output).flatten(0, 1), state

    return RNNModel()


def train(training: Training) -> None:
    """Train with the settings."""
    with stdout_to("log.txt"):
        train_and_print(training)


def train_and_print(training: Training) -> None:
    """Train, and print what the example prints."""
    import torch
    from torch.nn import functional as F

    one_thread(training.seed)
    s = training.settings
    text = toy_data.text(s.n_chars, seed=training.seed, words=WORDS)
    columns = batchify(text)
    val_text = toy_data.text(8000, seed=999, style=1 if s.eval_other else 0, words=WORDS)
    val_columns = batchify(val_text)
    batches = (len(columns) - 1) // LENGTH
    model = language_model(64)
    if s.frozen:
        freeze(model.rnn)
        freeze(model.encoder)
    total = batches * s.epochs
    onset = training.onset(total) if s.nan or s.shift or s.crash or s.stall else total + 1
    other = batchify("".join(reversed(text)))
    lr, best, step = s.lr, None, 0
    order = np.random.default_rng(training.seed)
    for epoch in range(1, s.epochs + 1):
        began, epoch_began, total_loss, summed, state = time.time(), time.time(), 0.0, 0, None
        model.train()
        for batch in range(batches):
            source = other if s.shift and step >= onset else columns
            at = batch * LENGTH
            ids, targets = source[at : at + LENGTH], source[at + 1 : at + 1 + LENGTH].reshape(-1)
            if s.shuffle_targets:
                targets = targets[torch.as_tensor(order.permutation(len(targets)))]
            if s.crash and step == onset:
                raise Crash("CUDA error: device-side assert triggered")
            if s.stall and step >= onset:
                time.sleep(0.03)
            state = None if state is None else tuple(part.detach() for part in state)
            scores, state = model(ids, state)
            loss = F.cross_entropy(scores, targets)
            if s.nan and step == onset:
                loss = loss * float("nan")
            model.zero_grad()
            loss.backward()
            if s.clip:
                torch.nn.utils.clip_grad_norm_(model.parameters(), s.clip)
            if s.stepping:
                with torch.no_grad():
                    for parameter in model.parameters():
                        if parameter.grad is not None:
                            parameter.add_(parameter.grad, alpha=-lr)
            total_loss += loss.item()
            summed += 1
            step += 1
            if batch % LOG_INTERVAL == 0 and batch > 0:
                now = total_loss / summed
                millis = (time.time() - began) * 1000 / summed
                print(
                    f"| epoch {epoch:3d} | {batch:5d}/{batches:5d} batches | lr {lr:02.2f} | "
                    f"ms/batch {millis:5.2f} | loss {now:5.2f} | ppl {perplexity(now):8.2f}"
                )
                total_loss, summed, began = 0.0, 0, time.time()
        val_loss = evaluate(model, val_columns)
        print("-" * 89)
        print(
            f"| end of epoch {epoch:3d} | time: {time.time() - epoch_began:5.2f}s | valid loss {val_loss:5.2f} | "
            f"valid ppl {perplexity(val_loss):8.2f}"
        )
        print("-" * 89)
        if best is None or val_loss < best:
            best = val_loss
        elif s.anneal:
            lr /= 4.0


def perplexity(loss: float) -> float:
    """The exponential of the loss."""
    return math.exp(min(loss, 700.0)) if loss == loss else loss


def evaluate(model, columns) -> float:
    """The mean loss."""
    import torch
    from torch.nn import functional as F

    model.eval()
    with torch.no_grad():
        scores, _ = model(columns[:-1], None)
        return F.cross_entropy(scores, columns[1:].reshape(-1)).item()


BASE = Base(
    name="char_rnn",
    framework="PyTorch's word-language-model example",
    log="printed text",
    packages=("torch",),
    held_out=True,
    settings={
        "lr": 2.0,
        "clip": 0.25,
        "n_chars": 40_000,
        "epochs": 6,
        "anneal": True,
        "frozen": False,
        "stepping": True,
        "shuffle_targets": False,
        "nan": False,
        "shift": False,
        "crash": False,
        "stall": False,
        "eval_other": False,
    },
    tiny={"n_chars": 12_000, "epochs": 3},
    faults=(
        fault("lr-x100", "lr-high", lr=200.0),
        fault("no-clipping", "lr-high", lr=20.0, clip=0.0, causes=("lr-too-high", "no-clipping", "no-warmup")),
        fault("lr-div-1000", "lr-low", lr=0.002),
        fault("not-stepping", "not-stepping", stepping=False),
        fault("targets-shuffled", "labels", shuffle_targets=True),
        fault("tiny-data", "tiny-data", n_chars=4800, epochs=70, lr=6.0, anneal=False),
        fault("nan-batch", "nan", nan=True),
        fault("data-shift", "shift", shift=True),
        fault("loader-stall", "stall", stall=True),
        fault("eval-other-language", "val-preprocessing", eval_other=True),
        harmless("crash", crash=True),
        harmless("fewer-epochs", epochs=4),
    ),
    train=train,
)

if __name__ == "__main__":
    main(BASE)
