"""A variational autoencoder in the style of PyTorch's example, logged with its SummaryWriter."""

from zoo.foreign import toy_data
from zoo.foreign.base import Base, Training, main
from zoo.foreign.toy_models import one_thread
from zoo.foreign.truth import fault, harmless

SIZE, HIDDEN, LATENT = 12, 64, 8


def preload() -> None:
    """Import the framework."""
    from torch.utils import tensorboard  # noqa: F401


def autoencoder():
    """The encoder, the decoder and the sampling between them."""
    import torch
    from torch import nn

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(SIZE * SIZE, HIDDEN), nn.ReLU())
            self.mean, self.log_variance = nn.Linear(HIDDEN, LATENT), nn.Linear(HIDDEN, LATENT)
            self.decoder = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, SIZE * SIZE))

        def forward(self, x):
            hidden = self.encoder(x)
            mean, log_variance = self.mean(hidden), self.log_variance(hidden)
            z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
            return self.decoder(z), mean, log_variance

    return VAE()


def train(training: Training) -> None:
    """Train with the settings."""
    import torch
    from torch.nn import functional as F
    from torch.utils.tensorboard import SummaryWriter

    one_thread(training.seed)
    s = training.settings
    data = toy_data.images(s.n_train, 400, classes=6, size=SIZE, noise=0.2, seed=training.seed)
    train_x, test_x = (torch.as_tensor(part).div(3).add(0.5).clamp(0, 1) for part in (data.train_x, data.val_x))
    test_x = 1 - test_x if s.eval_inverted else test_x
    model = autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=s.lr, weight_decay=s.weight_decay)
    batches = -(-s.n_train // s.batch)
    onset = training.onset(s.epochs * batches) if s.nan or s.shift else s.epochs * batches + 1

    def losses(x):
        logits, mean, log_variance = model(x)
        bce = F.binary_cross_entropy_with_logits(logits, x.flatten(1), reduction="sum") / len(x)
        kld = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp()) / len(x)
        return bce + s.kl_weight * kld, bce, kld

    writer = SummaryWriter("runs/vae")
    step = 0
    for epoch in range(1, s.epochs + 1):
        model.train()
        for rows in torch.randperm(s.n_train).split(s.batch):
            x = train_x[rows]
            if s.shift and step >= onset:
                x = 1 - x
            loss, bce, kld = losses(x)
            if s.nan and step == onset:
                loss = loss * float("nan")
            optimizer.zero_grad()
            loss.backward()
            if s.stepping:
                optimizer.step()
            if step % 10 == 0:
                writer.add_scalar("Train/Loss", loss.item(), step)
                writer.add_scalar("Train/BCE", bce.item(), step)
                writer.add_scalar("Train/KLD", kld.item(), step)
            step += 1
        model.eval()
        with torch.no_grad():
            loss, bce, kld = losses(test_x)
        writer.add_scalar("Test/Loss", loss.item(), epoch)
        writer.add_scalar("Test/BCE", bce.item(), epoch)
        writer.add_scalar("Test/KLD", kld.item(), epoch)
    writer.close()


COLLAPSED = ("representation-collapse", "loss-flat", "loss-plateau", "loss-too-good", "loss-at-marginal", "loss-zero")

BASE = Base(
    name="vae",
    framework="PyTorch",
    log="TensorBoard event files of SummaryWriter",
    packages=("torch", "tensorboard"),
    held_out=True,
    settings={
        "lr": 1e-3,
        "weight_decay": 0.0,
        "kl_weight": 1.0,
        "batch": 64,
        "epochs": 15,
        "n_train": 2560,
        "stepping": True,
        "nan": False,
        "shift": False,
        "eval_inverted": False,
    },
    tiny={"n_train": 256, "epochs": 3},
    faults=(
        fault("lr-x300", "lr-high", lr=0.3),
        fault("lr-div-1000", "lr-low", lr=1e-6),
        fault("not-stepping", "not-stepping", stepping=False),
        fault("kl-weight", "lr-low", kl_weight=30.0, also=COLLAPSED, causes=("loss-weights-wrong",)),
        harmless("tiny-data", n_train=64, epochs=250),
        fault("weight-decay", "weight-decay", weight_decay=10.0, also=COLLAPSED),
        fault("nan-batch", "nan", nan=True),
        harmless("data-shift", shift=True),
        harmless("eval-inverted", eval_inverted=True),
        harmless("more-epochs", epochs=22),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
