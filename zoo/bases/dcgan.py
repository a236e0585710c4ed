"""A small GAN in the style of the DCGAN tutorials, logged with PyTorch's SummaryWriter."""

from zoo.foreign import toy_data
from zoo.foreign.base import Base, Training, main
from zoo.foreign.toy_models import one_thread
from zoo.foreign.truth import fault, harmless

SIZE, LATENT = 12, 16
GAN_FINDINGS = (
    "gan-imbalance",
    "loss-diverged",
    "loss-drift-up",
    "loss-too-good",
    "loss-zero",
    "loss-flat",
    "loss-plateau",
    "loss-level-shift",
    "loss-spike",
    "gradient-vanishing",
    "representation-collapse",
)


def preload() -> None:
    """Import the framework."""
    from torch.utils import tensorboard  # noqa: F401


def networks():
    """The generator and the discriminator."""
    from torch import nn

    generator = nn.Sequential(
        nn.Linear(LATENT, 16 * 9),
        nn.Unflatten(1, (16, 3, 3)),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.ConvTranspose2d(16, 8, 4, 2, 1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 1, 4, 2, 1),
        nn.Tanh(),
    )
    discriminator = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(8, 16, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Flatten(),
        nn.Linear(16 * 9, 1),
    )
    return generator, discriminator


def train(training: Training) -> None:
    """Train with the settings."""
    import torch
    from torch import nn
    from torch.utils.tensorboard import SummaryWriter

    one_thread(training.seed)
    s = training.settings
    data = toy_data.images(s.n_train, 1, classes=4, size=SIZE, noise=0.3, seed=training.seed)
    real_images = torch.as_tensor(data.train_x).div(3).clamp(-1, 1)
    generator, discriminator = networks()
    adam_g = torch.optim.Adam(generator.parameters(), lr=s.lr_g, betas=(0.5, 0.999))
    adam_d = torch.optim.Adam(discriminator.parameters(), lr=s.lr_d, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    onset = training.onset(s.steps) if s.nan or s.shift or s.blank else s.steps + 1
    writer = SummaryWriter("runs/dcgan")
    for step in range(s.steps):
        real = real_images[torch.randint(0, s.n_train, (s.batch,))]
        if s.nan and step == onset:
            real = real * float("nan")
        if s.shift and step >= onset:
            real = -real.abs()
        if s.blank and step >= onset:
            real = torch.zeros_like(real)
        ones, zeros = torch.ones(s.batch, 1), torch.zeros(s.batch, 1)
        fake = generator(torch.randn(s.batch, LATENT))
        score_real, score_fake = discriminator(real), discriminator(fake.detach())
        loss_d = criterion(score_real, zeros if s.flipped else ones) + criterion(score_fake, zeros)
        adam_d.zero_grad()
        loss_d.backward()
        if s.d_steps:
            adam_d.step()
        score_again = discriminator(fake)
        loss_g = criterion(score_again, ones)
        adam_g.zero_grad()
        loss_g.backward()
        if s.g_steps:
            adam_g.step()
        if step % 4 == 0:
            writer.add_scalar("Loss_D", loss_d.item(), step)
            writer.add_scalar("Loss_G", loss_g.item(), step)
            writer.add_scalar("D(x)", score_real.sigmoid().mean().item(), step)
            writer.add_scalar("D(G(z))/before", score_fake.sigmoid().mean().item(), step)
            writer.add_scalar("D(G(z))/after", score_again.sigmoid().mean().item(), step)
    writer.close()


BASE = Base(
    name="dcgan",
    framework="PyTorch",
    log="TensorBoard event files of SummaryWriter",
    packages=("torch", "tensorboard"),
    settings={
        "lr_g": 2e-3,
        "lr_d": 2e-3,
        "batch": 16,
        "steps": 360,
        "n_train": 2000,
        "g_steps": True,
        "d_steps": True,
        "flipped": False,
        "nan": False,
        "shift": False,
        "blank": False,
    },
    tiny={"steps": 40, "n_train": 200},
    faults=(
        fault("lr-x100", "lr-high", lr_g=0.2, lr_d=0.2, also=GAN_FINDINGS),
        harmless("lr-div-1000", lr_g=2e-6, lr_d=2e-6),
        fault(
            "discriminator-wins",
            "lr-high",
            lr_d=1e-2,
            lr_g=1e-5,
            also=GAN_FINDINGS,
            causes=("lr-too-high", "lr-too-low"),
        ),
        fault("generator-not-stepping", "not-stepping", g_steps=False, also=GAN_FINDINGS),
        fault("discriminator-not-stepping", "not-stepping", d_steps=False, also=GAN_FINDINGS),
        fault("labels-flipped", "labels", flipped=True, also=GAN_FINDINGS),
        fault("nan-batch", "nan", nan=True),
        harmless("data-shift", shift=True),
        harmless("blank-images", blank=True),
        harmless("little-data", n_train=300),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
