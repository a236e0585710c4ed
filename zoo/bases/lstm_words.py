"""An LSTM that predicts the next word, in a plain PyTorch loop that logs with torch's SummaryWriter."""

from functools import lru_cache
from typing import Any

import numpy as np

from zoo.foreign import toy_data
from zoo.foreign.base import Base, Crash, Training, main
from zoo.foreign.toy_models import one_thread, scale_weights
from zoo.foreign.truth import fault, harmless

WORDS = 120
LENGTH, ROWS = 16, 16  # of a batch: truncated backpropagation through time


def words(n: int, *, seed: int, style: int = 0) -> np.ndarray:
    """The words of a generated text as numbers; two styles are two grammars."""
    known = {word: i for i, word in enumerate(sorted(set(_spelled(60_000, seed=0, style=style))))}
    return np.array([known[word] for word in _spelled(n, seed=seed, style=style)])


@lru_cache(maxsize=8)
def _spelled(n: int, *, seed: int, style: int) -> tuple[str, ...]:
    return tuple(toy_data.text(14 * n, seed=seed, style=style, words=WORDS).replace(".", "").split()[:n])


def stream(s: Any, seed: int) -> np.ndarray:
    """The training text. Not shuffled: one long part of each style."""
    if not s.sorted_styles:
        return words(s.n_words, seed=seed)
    half = s.n_words // 2
    return np.concatenate([words(half, seed=seed), words(half, seed=seed, style=1)])


def train(training: Training) -> None:
    """Train with the settings."""
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.tensorboard import SummaryWriter

    one_thread(training.seed)
    s = training.settings
    rng = np.random.default_rng(training.seed)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(WORDS, 48)
            self.lstm = nn.LSTM(48, 64, batch_first=True)
            self.drop = nn.Dropout(s.dropout)
            self.out = nn.Linear(64, WORDS)

        def forward(self, x, state):
            y, state = self.lstm(self.drop(self.embed(x)), state)
            return self.out(self.drop(y)), state

    def batches(ids: np.ndarray):
        """Inputs and targets; rows go on where the batch before left off."""
        columns = torch.as_tensor(ids[: len(ids) // ROWS * ROWS].reshape(ROWS, -1))
        for at in range(0, columns.shape[1] - LENGTH - 1, LENGTH):
            yield columns[:, at : at + LENGTH], columns[:, at + s.shift : at + LENGTH + s.shift]

    model = Model()
    scale_weights(model, s.init)
    optimizer = (
        torch.optim.SGD(model.parameters(), lr=s.lr)
        if s.sgd
        else torch.optim.Adam(model.parameters(), lr=s.lr, weight_decay=s.weight_decay)
    )
    text, held = stream(s, training.seed), words(4000, seed=999)
    if s.other_vocabulary:
        held = (held + 17) % WORDS
    writer = SummaryWriter("logs")
    step, total = 0, s.epochs * sum(1 for _ in batches(text))
    onset = training.onset(total) if s.nan or s.crash or s.corrupt else total
    for _ in range(s.epochs):
        model.train()
        state = None
        for inputs, targets in batches(text):
            if s.shuffle_targets:
                targets = torch.as_tensor(rng.permutation(targets.numpy().ravel()).reshape(targets.shape))
            if s.corrupt and step >= onset:
                inputs = torch.as_tensor(rng.integers(0, WORDS, tuple(inputs.shape)))
            if s.crash and step == onset:
                writer.close()
                raise Crash("CUDA error: an illegal memory access was encountered")
            state = None if state is None or s.forget_state else tuple(part.detach() for part in state)
            scores, state = model(inputs, state)
            loss = F.cross_entropy(scores.reshape(-1, WORDS), targets.reshape(-1))
            if s.nan and step == onset:
                loss = loss * float("nan")
            if not s.keep_gradients:
                optimizer.zero_grad()
            loss.backward()
            if s.clip:
                nn.utils.clip_grad_norm_(model.parameters(), s.clip)
            if s.stepping:
                optimizer.step()
            if step % s.log_every == 0:
                writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        if not s.eval_in_train_mode:
            model.eval()
        with torch.no_grad():
            state, losses = None, []
            for inputs, targets in batches(held):
                scores, state = model(inputs, state)
                losses.append(F.cross_entropy(scores.reshape(-1, WORDS), targets.reshape(-1)).item())
        mean = float(np.mean(losses))
        writer.add_scalar("Loss/valid", mean, step)
        writer.add_scalar("Perplexity/valid", float(np.exp(min(mean, 50.0))), step)
    writer.close()


BASE = Base(
    name="lstm_words",
    framework="a plain PyTorch loop",
    log="TensorBoard event files by torch's SummaryWriter",
    packages=("torch", "tensorboard"),
    settings={
        "lr": 4e-3,
        "sgd": False,
        "weight_decay": 0.0,
        "clip": 1.0,
        "dropout": 0.1,
        "epochs": 10,
        "n_words": 20_000,
        "log_every": 10,
        "init": 1.0,
        "shift": 1,
        "sorted_styles": False,
        "shuffle_targets": False,
        "forget_state": False,
        "eval_in_train_mode": False,
        "other_vocabulary": False,
        "keep_gradients": False,
        "stepping": True,
        "nan": False,
        "crash": False,
        "corrupt": False,
    },
    tiny={"n_words": 3_000, "epochs": 3},
    faults=(
        fault("lr-x100", "lr-high", lr=0.4, clip=0.0),
        fault("lr-div-100", "lr-low", lr=4e-5),
        fault("not-stepping", "not-stepping", stepping=False),
        # It learns more slowly, and nothing in the log is wrong.
        harmless("no-clipping", sgd=True, lr=60.0, clip=0.0),
        fault("targets-shuffled", "labels", shuffle_targets=True),
        fault("target-is-input", "tiny-data", shift=0, also=("val-below-train",), causes=("target-leak",)),
        harmless("sorted-styles", sorted_styles=True),
        fault("tiny-data", "tiny-data", n_words=600, epochs=150, dropout=0.0),
        fault("dropout-too-high", "frozen", dropout=0.97, causes=("capacity-too-small", "lr-too-low", "label-noise")),
        fault("weight-decay", "weight-decay", weight_decay=0.3),
        fault("bad-init", "bad-init", init=30.0),
        fault("nan-batch", "nan", nan=True),
        fault("data-shift", "shift", corrupt=True),
        fault("other-vocabulary", "val-preprocessing", other_vocabulary=True),
        harmless("gradients-kept", keep_gradients=True),
        harmless("crash", crash=True),
        harmless("forget-state", forget_state=True),
        harmless("eval-in-train-mode", eval_in_train_mode=True),
    ),
    train=train,
)

if __name__ == "__main__":
    main(BASE)
