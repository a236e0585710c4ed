"""A Hugging Face Trainer on random tokens: the smallest GPT-2 that its documentation builds from a configuration."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Random(torch.utils.data.Dataset):
    def __init__(self, n):
        self.ids = torch.randint(0, 100, (n, 32), generator=torch.Generator().manual_seed(n))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=32, n_embd=32, n_layer=2, n_head=2))
args = TrainingArguments(
    "out",
    max_steps=400,
    per_device_train_batch_size=8,
    logging_steps=10,
    eval_strategy="steps",
    eval_steps=20,
    report_to=[],
    use_cpu=True,
    save_strategy="no",
    learning_rate=1e-3,
    warmup_steps=10,
)
Trainer(model, args, train_dataset=Random(400), eval_dataset=Random(40)).train()
