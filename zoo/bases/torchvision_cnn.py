"""Fine-tuning as in torchvision's reference scripts: the log is the text that their MetricLogger prints."""

import time
from collections import defaultdict, deque
from datetime import timedelta
from statistics import median

from zoo.foreign import toy_data
from zoo.foreign.base import Base, Crash, Training, main, stdout_to
from zoo.foreign.toy_models import freeze, one_thread, scale_weights, small_cnn
from zoo.foreign.truth import fault, harmless

CLASSES, SIZE = 10, 12
PRINT_FREQ = 10


class MetricLogger:
    """The values of an epoch, printed as torchvision's references/classification/utils.py does."""

    def __init__(self) -> None:
        self.recent: dict[str, deque] = defaultdict(lambda: deque(maxlen=20))
        self.sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])

    def update(self, name: str, value: float, n: int = 1) -> None:
        """Add a value."""
        self.recent[name].append(value)
        self.sums[name][0] += value * n
        self.sums[name][1] += n

    def mean(self, name: str) -> float:
        """The mean over the epoch."""
        return self.sums[name][0] / max(1, self.sums[name][1])

    def __str__(self) -> str:
        plain = {"lr": "lr: {:.6g}", "img/s": "img/s: {:.10g}"}
        shown = []
        for name in self.recent:
            if name in plain:
                shown.append(plain[name].format(self.recent[name][-1]))
            elif name not in ("time", "data"):
                shown.append(f"{name}: {median(self.recent[name]):.4f} ({self.mean(name):.4f})")
        return "  ".join(shown)

    def log_every(self, batches, header: str):
        """Iterate over batches, and print every few of them."""
        started_at = end = time.time()
        width = len(str(len(batches)))
        for i, batch in enumerate(batches):
            self.update("data", time.time() - end)
            yield batch() if callable(batch) else batch
            self.update("time", time.time() - end)
            if i % PRINT_FREQ == 0:
                eta = timedelta(seconds=int(self.mean("time") * (len(batches) - i)))
                print(
                    f"{header}  [{i:{width}d}/{len(batches)}]  eta: {eta}  {self}  "
                    f"time: {sum(self.recent['time']) / len(self.recent['time']):.4f}  "
                    f"data: {sum(self.recent['data']) / len(self.recent['data']):.4f}"
                )
            end = time.time()
        print(f"{header} Total time: {timedelta(seconds=int(time.time() - started_at))}")


class Batches:
    """A data loader of shuffled batches that can stall."""

    def __init__(self, x, y, size: int, *, shuffle: bool, stall_secs: float = 0.0) -> None:
        import torch

        self.x, self.y, self.stall_secs = x, y, stall_secs
        order = torch.randperm(len(y)) if shuffle else torch.arange(len(y))
        self.rows = order.split(size)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self):
        for rows in self.rows:
            if self.stall_secs:
                time.sleep(self.stall_secs)
            yield self.x[rows], self.y[rows]


def train(training: Training) -> None:
    """Train with the settings."""
    with stdout_to("train.log"):
        train_and_print(training)


def train_and_print(training: Training) -> None:
    """Train, and print what the reference script prints."""
    import torch
    from torch.nn import functional as F

    one_thread(training.seed)
    s = training.settings
    data = toy_data.images(
        s.n_train, 500, classes=CLASSES, size=SIZE, noise=1.3, seed=training.seed, shuffle_labels=s.shuffle_labels
    )
    x, y, val_x, val_y = map(torch.as_tensor, (data.train_x, data.train_y, data.val_x, data.val_y))
    val_x = val_x * 50 + 120 if s.eval_raw else val_x
    model = small_cnn(SIZE, CLASSES, normalized=s.normalized)
    scale_weights(model, s.init)
    first = small_cnn(SIZE, CLASSES)
    if s.frozen:
        freeze(model.backbone)
    optimizer = torch.optim.SGD(model.parameters(), lr=s.lr, momentum=0.9, weight_decay=s.weight_decay)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=s.lr_step, gamma=0.1)
    steps_per_epoch = -(-len(y) // s.batch)
    sudden = s.nan or s.crash or s.shift or s.stall
    onset_epoch = int(0.5 * s.epochs) if sudden else s.epochs
    if sudden:
        training.onset(steps_per_epoch * s.epochs)
    if s.lr_step == 2:
        training.onset_step = 2 * steps_per_epoch
    print("Start training")
    started_at = time.time()
    for epoch in range(s.epochs):
        model.train()
        meters = MetricLogger()
        stall_secs = 0.04 if s.stall and epoch >= onset_epoch else 0.0
        batches = Batches(x, y, s.batch, shuffle=True, stall_secs=stall_secs)
        for i, (inputs, labels) in enumerate(meters.log_every(batches, f"Epoch: [{epoch}]")):
            began = time.time()
            if s.nan and epoch == onset_epoch and i == 0:
                inputs = inputs * float("nan")
            if s.shift and epoch >= onset_epoch:
                inputs = -inputs.flip(-1)
            if s.crash and epoch == onset_epoch and i == 12:
                raise Crash("CUDA out of memory. Tried to allocate 20.00 MiB")
            scores = model(inputs + 0.5 * torch.randn_like(inputs))
            loss = F.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            if s.stepping:
                optimizer.step()
            meters.update("lr", optimizer.param_groups[0]["lr"])
            meters.update("img/s", len(labels) / max(1e-6, time.time() - began))
            note_accuracy(meters, loss, scores, labels)
        scheduler.step()
        evaluate(first if s.eval_first_weights else model, val_x, val_y)
    print(f"Training time {timedelta(seconds=int(time.time() - started_at))}")


def note_accuracy(meters: MetricLogger, loss, scores, labels) -> None:
    """Add loss and accuracies in percent."""
    top = scores.topk(5, -1).indices == labels[:, None]
    meters.update("loss", loss.item())
    meters.update("acc1", 100 * top[:, :1].any(-1).float().mean().item(), len(labels))
    meters.update("acc5", 100 * top.any(-1).float().mean().item(), len(labels))


def evaluate(model, x, y) -> None:
    """Evaluate and print the result."""
    import torch
    from torch.nn import functional as F

    model.eval()
    meters = MetricLogger()
    with torch.no_grad():
        for inputs, labels in meters.log_every(Batches(x, y, 100, shuffle=False), "Test: "):
            scores = model(inputs)
            note_accuracy(meters, F.cross_entropy(scores, labels), scores, labels)
    print(f"Test:  Acc@1 {meters.mean('acc1'):.3f} Acc@5 {meters.mean('acc5'):.3f}")


BASE = Base(
    name="torchvision_cnn",
    framework="torchvision's reference scripts",
    log="the text of MetricLogger",
    packages=("torch",),
    settings={
        "lr": 0.02,
        "lr_step": 5,
        "weight_decay": 1e-3,
        "epochs": 8,
        "batch": 32,
        "n_train": 1120,
        "shuffle_labels": False,
        "init": 1.0,
        "normalized": True,
        "frozen": False,
        "stepping": True,
        "nan": False,
        "shift": False,
        "crash": False,
        "stall": False,
        "eval_raw": False,
        "eval_first_weights": False,
    },
    tiny={"n_train": 256, "epochs": 3},
    faults=(
        fault("lr-x300", "lr-high", lr=6.0, normalized=False),
        fault("lr-div-1000", "lr-low", lr=2e-5),
        fault("not-stepping", "not-stepping", stepping=False),
        fault("labels-shuffled", "labels", shuffle_labels=True),
        fault("tiny-data", "tiny-data", n_train=96, epochs=45, lr_step=40),
        fault("bad-init", "bad-init", init=20.0, normalized=False, also=("loss-diverged",)),
        fault("nan-batch", "nan", nan=True),
        fault("data-shift", "shift", shift=True),
        fault("decays-too-early", "schedule-early", lr_step=2),
        fault("eval-not-normalized", "val-preprocessing", eval_raw=True),
        fault("eval-frozen", "eval-frozen", eval_first_weights=True),
        fault("loader-stall", "stall", stall=True),
        harmless("crash", crash=True),
        harmless("frozen-backbone", frozen=True),
    ),
    train=train,
)

if __name__ == "__main__":
    main(BASE)
