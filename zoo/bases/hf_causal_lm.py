"""A small GPT-2 from scratch on characters, trained by transformers' Trainer and logged in trainer_state.json."""

import numpy as np

from zoo.foreign import hf_trainer, toy_data
from zoo.foreign.base import Base, Training, main
from zoo.foreign.truth import fault, harmless

LENGTH = 48
CHARACTERS = sorted(set(" .\nabdefgiklmnoprstu"))
OFFSET = 5  # ids of special tokens come first


def encode(text: str) -> np.ndarray:
    """Characters to token ids."""
    numbers = {character: OFFSET + i for i, character in enumerate(CHARACTERS)}
    return np.array([numbers[character] for character in text])


def blocks(text: str, *, seed: int, n: int, shift: bool = False, shuffle_labels: bool = False) -> list[dict]:
    """Random blocks of the text."""
    import torch

    ids, rng = torch.as_tensor(encode(text)), np.random.default_rng(seed)
    starts = rng.integers(0, len(ids) - LENGTH, n)
    rows = []
    for start in starts:
        block = ids[start : start + LENGTH]
        # A collator that pairs inputs with the labels of another block.
        labels = ids[(other := rng.integers(0, len(ids) - LENGTH)) : other + LENGTH] if shuffle_labels else block
        rows.append({"input_ids": hf_trainer.shifted(block) if shift else block, "labels": labels})
    return rows


def model(*, init: float = 0.02):
    """A GPT-2 with random weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=OFFSET + len(CHARACTERS),
        n_positions=LENGTH,
        n_embd=48,
        n_layer=2,
        n_head=2,
        initializer_range=init,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config)


def train(training: Training) -> None:
    """Train with the settings."""
    import torch

    s = training.settings
    torch.manual_seed(training.seed)
    gpt = model(init=s.init)
    if s.frozen:
        gpt.transformer.h.requires_grad_(False)
        gpt.transformer.wte.requires_grad_(False)
    hf_trainer.train(
        training,
        gpt,
        blocks(
            toy_data.text(s.n_chars, seed=training.seed),
            seed=training.seed,
            n=s.n_train,
            shuffle_labels=s.shuffle_labels,
        ),
        blocks(toy_data.text(20_000, seed=999), seed=1, n=s.n_val, shift=s.eval_shift),
        report_to=[],
        lr_scheduler_type="cosine" if s.schedule != "restart" else "linear",
    )


BASE = Base(
    name="hf_causal_lm",
    framework="transformers Trainer",
    log="trainer_state.json",
    packages=("torch", "transformers", "accelerate"),
    settings={
        **hf_trainer.SETTINGS,
        "init": 0.02,
        "n_chars": 200_000,
        "n_train": 4000,
        "n_val": 64,
        "batch": 16,
        "epochs": 1,
        "lr": 3e-3,
    },
    tiny={"n_train": 400, "n_val": 32, "n_chars": 20_000},
    faults=(
        fault("lr-x100", "lr-high", lr=0.3),
        fault("lr-x300-no-warmup", "lr-high", lr=0.9, warmup=0.0),
        fault("lr-div-1000", "lr-low", lr=3e-6),
        fault("not-stepping", "not-stepping", stepping=False),
        fault("labels-shuffled", "labels", shuffle_labels=True, also=("val-gap-from-start",)),
        fault("tiny-data", "tiny-data", n_chars=300, n_train=400, epochs=10),
        fault("bad-init", "bad-init", init=1.0),
        fault("nan-batch", "nan", nan=True),
        fault("schedule-restart", "schedule-restart", schedule="restart"),
        fault("data-shift", "shift", shift=True),
        fault("eval-tokenizer", "val-preprocessing", eval_shift=True),
        fault("crash", "crash", crash=True),
        harmless("stopped-early", stop_early=True),
    ),
    train=train,
    preload=hf_trainer.preload,
)

if __name__ == "__main__":
    main(BASE)
