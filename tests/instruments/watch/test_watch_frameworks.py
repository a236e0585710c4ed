"""watch inside frameworks that wrap models and optimizers, or that compute gradients inside `optimizer.step`."""

import copy

import accelerate
import lightning
import pytest
import torch
import transformers
from instruments.watch.watched_training import EVERY_STEP, batches, logged, values
from integrations.small_trainings import language_model, loader, rows

import pulseboard as pb

NORM = "train/gradient_flow/global_norm"
MEASURE_ALL = {"overhead": None, "every": EVERY_STEP, "histogram_interval": 0}


def line():
    torch.manual_seed(0)
    return torch.nn.Linear(8, 1)


def loss_of(model, x):
    return (model(x) - x.sum(1, keepdim=True)).square().mean()


def gradient_norms(model, optimizer, data):
    """The gradient norm of each step of a plain training, computed without Pulseboard."""
    norms = []
    for x in data:
        optimizer.zero_grad()
        loss_of(model, x).backward()
        norms.append(float(torch.cat([p.grad.flatten() for p in model.parameters()]).norm()))
        optimizer.step()
    return norms


def test_a_model_and_an_optimizer_that_accelerate_prepared_are_watched(run):
    plain = line()
    want = gradient_norms(plain, torch.optim.AdamW(plain.parameters()), batches(3))
    accelerator = accelerate.Accelerator(cpu=True)
    bare = line()
    model, optimizer = accelerator.prepare(bare, torch.optim.AdamW(bare.parameters()))
    with pb.watch(model, optimizer, run=run, **MEASURE_ALL):
        for x in batches(3):
            optimizer.zero_grad()
            accelerator.backward(loss_of(model, x))
            optimizer.step()
    assert values(logged(run), NORM) == pytest.approx(want)
    assert run.config["watch"]["optimizer"] == "AdamW"


def test_accumulated_steps_of_accelerate_are_not_counted(run):
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    bare = line()
    model, optimizer = accelerator.prepare(bare, torch.optim.SGD(bare.parameters(), lr=0.1))
    with pb.watch(model, optimizer, run=run, **MEASURE_ALL):
        for x in batches(4):
            with accelerator.accumulate(model):
                accelerator.backward(loss_of(model, x))
                optimizer.step()
                optimizer.zero_grad()
    assert logged(run).series(NORM).steps.tolist() == [0, 1]


def test_a_callback_of_the_hugging_face_trainer_watches_its_optimizer(run, tmp_path):
    class Watching(transformers.TrainerCallback):
        def on_train_begin(self, args, state, control, model=None, optimizer=None, **_):
            self.watch = pb.watch(model, optimizer, run=run, **MEASURE_ALL)

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=3, use_cpu=True, report_to="none", disable_tqdm=True, save_strategy="no"
    )
    trainer = transformers.Trainer(
        model=language_model(), args=arguments, train_dataset=rows(), callbacks=[watching := Watching()]
    )
    trainer.train()
    watching.watch.close()
    got = logged(run)
    assert got.series(NORM).steps.tolist() == [0, 1, 2]
    assert all(value > 0 for value in values(got, NORM))


@pytest.mark.filterwarnings("ignore:.*treespec, LeafSpec.*is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:The '.*_dataloader' does not have many workers")
@pytest.mark.filterwarnings("ignore:The number of training batches")
def test_lightning_logs_the_gradients_of_the_step_and_the_time_of_backward(run):
    seen = []

    class Line(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, x):
            return self.layer(x)

        def training_step(self, batch, batch_idx):
            return torch.nn.functional.mse_loss(self.layer(batch[0]), 2 * batch[0])

        def on_before_optimizer_step(self, optimizer):
            seen.append(float(torch.cat([p.grad.flatten() for p in self.parameters()]).norm()))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

        def on_train_start(self):
            self.watch = pb.watch(self.layer, self.optimizers(), run=run, **MEASURE_ALL)

    module = Line()
    lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    ).fit(module, loader())
    module.watch.close()
    got = logged(run)
    assert len(seen) == 4
    assert values(got, NORM) == pytest.approx(seen)
    assert all(ms > 0 for ms in values(got, "train/performance/backward_time_ms"))


@pytest.mark.parametrize("as_keyword", [False, True])
def test_gradients_that_a_closure_computes_are_those_of_the_step(run, as_keyword):
    plain = line()
    want = gradient_norms(plain, torch.optim.SGD(plain.parameters(), lr=0.1), batches(4))
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    with pb.watch(model, optimizer, run=run, **MEASURE_ALL):
        for x in batches(4):

            def closure(x=x):
                optimizer.zero_grad()
                loss = loss_of(model, x)
                loss.backward()
                return loss

            losses.append(optimizer.step(closure=closure) if as_keyword else optimizer.step(closure))
    assert all(torch.is_tensor(loss) for loss in losses)  # what the closure returns still reaches the loop
    got = logged(run)
    assert values(got, NORM) == pytest.approx(want)
    assert all(ms > 0 for ms in values(got, "train/performance/backward_time_ms"))
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), model.parameters(), strict=True))


def test_an_optimizer_that_calls_its_closure_often_is_measured_once_per_step(run):
    model = line()
    twin = copy.deepcopy(model)
    results = []
    for each in (twin, model):
        optimizer = torch.optim.LBFGS(each.parameters(), max_iter=5)
        calls = 0
        if each is model:
            watch = pb.watch(model, optimizer, run=run, **MEASURE_ALL)
        for x in batches(2):

            def closure(x=x, each=each, optimizer=optimizer):
                nonlocal calls
                calls += 1
                optimizer.zero_grad()
                loss = loss_of(each, x)
                loss.backward()
                return loss

            optimizer.step(closure)
        results.append(calls)
    watch.close()
    assert results[0] == results[1] > 2
    assert logged(run).series(NORM).steps.tolist() == [0, 1]
    assert all(torch.equal(a, b) for a, b in zip(twin.parameters(), model.parameters(), strict=True))
