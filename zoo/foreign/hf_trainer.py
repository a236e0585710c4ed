"""The transformers Trainer with faults that can be switched on; the bases of transformers share it."""

from collections.abc import Mapping
from typing import Any

from zoo.foreign.base import Crash, Training

# Settings that every base of transformers has, and their healthy values.
SETTINGS: Mapping[str, Any] = {
    "lr": 1e-3,
    "weight_decay": 0.01,
    "warmup": 0.1,
    "epochs": 5,
    "batch": 32,
    "n_train": 2000,
    "n_val": 400,
    "shuffle_labels": False,
    "frozen": False,
    "stepping": True,
    "nan": False,
    "shift": False,
    "crash": False,
    "schedule": "linear",  # or "early": for a fourth of the steps; "restart": from the start again halfway
    "eval_shift": False,  # the validation set is encoded differently
    "eval_first_weights": False,  # the untrained model is evaluated
    "stop_early": False,  # max_steps ends the training at 60 %
}


def preload() -> None:
    """Import the framework."""
    import torch

    torch.set_num_threads(1)
    import transformers  # noqa: F401
    from transformers import Trainer  # noqa: F401
    from transformers.integrations import TensorBoardCallback  # noqa: F401


def train(training: Training, model: Any, train_set: Any, val_set: Any, *, report_to: list[str], **more: Any) -> None:
    """Train a model with the Trainer, as its examples do. `more` are further TrainingArguments."""
    import copy

    import torch
    from transformers import Trainer, TrainingArguments, set_seed

    s = training.settings
    set_seed(training.seed)
    total = s.epochs * -(-len(train_set) // s.batch)
    sudden = s.nan or s.shift or s.crash or s.schedule == "restart"
    onset = training.onset(total) if sudden else total + 1
    if s.schedule == "early":
        training.onset(total, share=0.25)

    class FaultyTrainer(Trainer):  # type: ignore[misc]
        def training_step(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            if s.crash and self.state.global_step >= onset:
                raise Crash("DataLoader worker (pid 4127) is killed by signal: Killed.")
            if s.shift and self.state.global_step >= onset:
                inputs["input_ids"] = shifted(inputs["input_ids"])
            return super().training_step(model, inputs, *args, **kwargs)

        def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            loss = super().compute_loss(model, inputs, *args, **kwargs)
            if s.nan and self.state.global_step == onset and model.training:
                loss = loss * float("nan")
            return loss

        def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
            if s.schedule == "early":
                num_training_steps //= 4
            scheduler = super().create_scheduler(num_training_steps, optimizer)
            if s.schedule == "restart":
                for i, healthy in enumerate(scheduler.lr_lambdas):
                    scheduler.lr_lambdas[i] = lambda step, healthy=healthy: healthy(step % onset)
            return scheduler

        def create_optimizer(self, *args: Any, **kwargs: Any) -> Any:
            optimizer = super().create_optimizer(*args, **kwargs)
            if not s.stepping:
                stale = [p.detach().clone() for group in optimizer.param_groups for p in group["params"]]
                for group in optimizer.param_groups:
                    group["params"] = [torch.nn.Parameter(stale.pop(0)) for _ in group["params"]]
            return optimizer

    arguments = TrainingArguments(
        output_dir="out",
        learning_rate=s.lr,
        weight_decay=s.weight_decay,
        warmup_steps=int(s.warmup * total),
        num_train_epochs=s.epochs,
        max_steps=int(0.6 * total) if s.stop_early else -1,
        per_device_train_batch_size=s.batch,
        per_device_eval_batch_size=128,
        logging_steps=10,
        eval_strategy="steps",
        eval_steps=max(10, total // 12),
        save_strategy="no",
        report_to=report_to,
        seed=training.seed,
        use_cpu=True,
        disable_tqdm=True,
        dataloader_num_workers=0,
        **more,
    )
    trainer = FaultyTrainer(
        model=model, args=arguments, train_dataset=train_set, eval_dataset=val_set, compute_metrics=accuracy
    )
    if s.eval_first_weights:
        first, evaluate = copy.deepcopy(model), trainer.evaluation_loop
        first.eval()

        def evaluate_first(*args: Any, **kwargs: Any) -> Any:
            trained = trainer.model
            trainer.model = trainer.model_wrapped = first
            try:
                return evaluate(*args, **kwargs)
            finally:
                trainer.model = trainer.model_wrapped = trained

        trainer.evaluation_loop = evaluate_first
    try:
        trainer.train()
    finally:
        trainer.save_state()


def shifted(ids: Any) -> Any:
    """The same sequence in another numbering of the words, as by another tokenizer."""
    return (ids - 5 + 37).remainder(int(ids.max()) - 4) + 5


def accuracy(prediction: Any) -> dict[str, float]:
    """The share of correct labels; for a language model, of correct next tokens."""
    scores, labels = prediction.predictions, prediction.label_ids
    scores = scores[0] if isinstance(scores, tuple) else scores
    if labels.ndim == 2:
        scores, labels = scores[:, :-1], labels[:, 1:]
    return {"accuracy": float((scores.argmax(-1) == labels).mean())}
