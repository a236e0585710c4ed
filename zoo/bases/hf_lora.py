"""LoRA fine-tuning of a small GPT-2 by peft and transformers' Trainer, logged to TensorBoard and trainer_state.json."""

from typing import Any

from zoo.bases import hf_causal_lm
from zoo.foreign import hf_trainer, toy_data
from zoo.foreign.base import Base, Training, main
from zoo.foreign.truth import fault, harmless

PRETRAINING_STEPS = 60


def pretrained(*, steps: int) -> Any:
    """A GPT-2 that was trained on one language; the fine-tuning is on another."""
    import torch

    torch.manual_seed(0)
    gpt = hf_causal_lm.model()
    rows = hf_causal_lm.blocks(toy_data.text(100_000, seed=5, style=1), seed=5, n=16 * steps)
    ids = torch.stack([row["input_ids"] for row in rows])
    optimizer = torch.optim.AdamW(gpt.parameters(), lr=3e-3)
    for batch in ids.split(16):
        gpt(input_ids=batch, labels=batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return gpt


def train(training: Training) -> None:
    """Fine-tune with the settings."""
    import torch
    from peft import LoraConfig, get_peft_model

    s = training.settings
    config = LoraConfig(
        r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True
    )
    base = pretrained(steps=s.pretraining)
    torch.manual_seed(training.seed)
    model = get_peft_model(base, config)
    if s.frozen:
        model.requires_grad_(False)
        # Only the adapters of one projection are left trainable: the name in the list is wrong.
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("h.1.attn.c_proj" in name and "lora" in name)
    text = toy_data.text(s.n_chars, seed=training.seed, style=2)
    hf_trainer.train(
        training,
        model,
        hf_causal_lm.blocks(text, seed=training.seed, n=s.n_train, shuffle_labels=s.shuffle_labels),
        hf_causal_lm.blocks(toy_data.text(20_000, seed=999, style=2), seed=1, n=s.n_val, shift=s.eval_shift),
        report_to=["tensorboard"],
        label_names=["labels"],
    )


def preload() -> None:
    """Import the frameworks."""
    hf_trainer.preload()
    import peft  # noqa: F401


BASE = Base(
    name="hf_lora",
    framework="peft and transformers Trainer",
    log="TensorBoard event files and trainer_state.json",
    packages=("torch", "transformers", "accelerate", "peft", "tensorboard"),
    settings={
        **hf_trainer.SETTINGS,
        "n_chars": 60_000,
        "n_train": 1600,
        "n_val": 64,
        "batch": 16,
        "epochs": 1,
        "lr": 5e-3,
        "pretraining": PRETRAINING_STEPS,
    },
    tiny={"n_train": 300, "n_val": 32, "n_chars": 20_000, "pretraining": 20},
    faults=(
        fault("lr-x100", "lr-high", lr=0.5),
        fault("lr-div-1000", "lr-low", lr=5e-6),
        fault("labels-shuffled", "labels", shuffle_labels=True),
        harmless("tiny-data", n_chars=600, n_train=160, epochs=10),
        harmless("wrong-target-modules", frozen=True),
        fault("nan-batch", "nan", nan=True),
        fault("schedule-early", "schedule-early", schedule="early"),
        fault("eval-tokenizer", "val-preprocessing", eval_shift=True),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
