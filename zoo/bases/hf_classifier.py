"""A BERT from scratch that classifies sequences, trained by transformers' Trainer and logged to TensorBoard."""

from zoo.foreign import hf_trainer, toy_data
from zoo.foreign.base import Base, Training, main
from zoo.foreign.truth import fault

VOCABULARY, LENGTH, CLASSES = 205, 24, 4


def train(training: Training) -> None:
    """Train with the settings."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    s = training.settings
    data = toy_data.sentences(
        s.n_train,
        s.n_val,
        classes=CLASSES,
        length=LENGTH,
        vocabulary=VOCABULARY,
        seed=training.seed,
        shuffle_labels=s.shuffle_labels,
    )
    torch.manual_seed(training.seed)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
        num_labels=CLASSES,
        initializer_range=s.init,
    )
    model = BertForSequenceClassification(config)
    if s.frozen:
        model.bert.requires_grad_(False)

    def rows(x, y, *, shift=False):
        x = torch.as_tensor(x)
        x = hf_trainer.shifted(x) if shift else x
        return [{"input_ids": x[i], "labels": int(y[i])} for i in range(len(y))]

    hf_trainer.train(
        training,
        model,
        rows(data.train_x, data.train_y),
        rows(data.val_x, data.val_y, shift=s.eval_shift),
        report_to=["tensorboard"],
    )


BASE = Base(
    name="hf_classifier",
    framework="transformers Trainer",
    log="TensorBoard event files and trainer_state.json",
    packages=("torch", "transformers", "accelerate", "tensorboard"),
    settings={**hf_trainer.SETTINGS, "init": 0.05, "epochs": 4, "lr": 2e-3},
    tiny={"n_train": 200, "n_val": 64, "epochs": 4},
    faults=(
        fault("lr-x100", "lr-high", lr=0.2),
        fault("lr-div-1000", "lr-low", lr=2e-6),
        fault("not-stepping", "not-stepping", stepping=False),
        fault("labels-shuffled", "labels", shuffle_labels=True),
        fault("tiny-data", "tiny-data", n_train=100, epochs=64),
        fault("frozen-backbone", "frozen", frozen=True),
        fault("nan-batch", "nan", nan=True),
        fault("data-shift", "shift", shift=True),
        fault("schedule-early", "schedule-early", schedule="early"),
        fault("eval-preprocessing", "val-preprocessing", eval_shift=True),
        fault("eval-frozen", "eval-frozen", eval_first_weights=True),
    ),
    train=train,
    preload=hf_trainer.preload,
)

if __name__ == "__main__":
    main(BASE)
