"""watch: values against plain definitions."""

import numpy as np
import pytest
import torch
from instruments.watch.watched_training import EVERY_STEP, batches, logged, model_and_optimizer, train, values
from torch import nn

import pulseboard as pb
from pulseboard.instruments.watch.measurement import all_measurements
from pulseboard.instruments.watch.parameters import layer_of, part_of


def test_norms_and_ratios_match_their_definitions(run):
    model, optimizer = model_and_optimizer()
    want = {"norm": [], "mean": [], "max": [], "param": [], "ratio": [], "update": []}
    watching = pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0)

    def definitions():
        gradients = [p.grad.double() for p in model.parameters()]
        head = torch.cat([p.grad.double().flatten() for p in model["head"].parameters()])
        want["norm"].append(torch.cat([g.flatten() for g in gradients]).norm().item())
        want["mean"].append(head.abs().mean().item())
        want["max"].append(head.abs().max().item())
        weights = torch.cat([p.detach().double().flatten() for p in model.parameters()])
        step = 0.1 * torch.cat([g.flatten() for g in gradients])
        want["ratio"].append((step.norm() / weights.norm()).item())
        want["update"].append(step.abs().mean().item())
        want["param"].append((weights - step).norm().item())

    train(model, optimizer, batches(5), after_backward=definitions)
    watching.close()
    got = logged(run)
    for tag, name in [
        ("train/gradient_flow/global_norm", "norm"),
        ("train/gradient_flow/head_mean", "mean"),
        ("train/gradient_flow/head_max", "max"),
        ("train/total_param_norm", "param"),
        ("train/update_ratio", "ratio"),
        ("train/learning_rate/avg_param_update", "update"),
    ]:
        assert values(got, tag) == pytest.approx(want[name], rel=1e-4), tag
        assert got.series(tag).steps.tolist() == list(range(5)), tag
    assert values(got, "train/learning_rate/base_lr") == pytest.approx([0.1] * 5)
    assert values(got, "train/gradient_flow/none_share") == [0.0] * 5


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("how", ["none", "zeros", "never"])
def test_gradients_left_over_from_the_previous_step_are_reported(run, how, accumulate):
    model, optimizer = model_and_optimizer()
    left, zero_grad = [], optimizer.zero_grad
    clear = {
        "none": zero_grad,
        "zeros": lambda: zero_grad(set_to_none=False),
        "never": lambda: None,
    }
    optimizer.zero_grad = lambda: (clear[how](), left.append(model["head"].bias.grad))
    after = []
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP):
        for x in batches(4):
            train(model, optimizer, [x] * accumulate, accumulate=accumulate)
            after.append(0.0 if left[-1] is None else float(left[-1].norm()))
    got = values(logged(run), "train/gradient_flow/left_over")
    assert got == pytest.approx(after[:-1])  # nothing can be left over at the first step
    assert any(got) == (how == "never")


def test_each_layer_and_part_is_measured(run):
    torch.manual_seed(0)
    model = nn.ModuleDict({"blocks": nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)]), "head": nn.Linear(8, 1)})
    model.forward = lambda x: model["head"](model["blocks"][1](torch.tanh(model["blocks"][0](x))))
    # The head is missing from the optimizer: it has gradients, but nothing updates it.
    optimizer = torch.optim.SGD(model["blocks"].parameters(), lr=0.1)
    want = {}

    def definitions():
        for name, part in (("blocks.0", model["blocks"][0]), ("blocks.1", model["blocks"][1]), ("head", model["head"])):
            want[name] = torch.cat([p.grad.double().flatten() for p in part.parameters()]).norm().item()
        blocks = list(model["blocks"].parameters())
        norms = [torch.cat([t.double().flatten() for t in of]).norm() for of in ([p.grad for p in blocks], blocks)]
        want["ratio"] = (0.1 * norms[0] / norms[1]).item()

    with pb.watch(model, optimizer, run=run, overhead=None, every=1, histogram_interval=0):
        train(model, optimizer, batches(1), after_backward=definitions)
    got = logged(run)
    for layer in ("blocks.0", "blocks.1", "head"):
        assert values(got, f"train/gradient_flow/{layer}_norm") == pytest.approx([want[layer]], rel=1e-4)
    assert values(got, "train/update_ratio/blocks") == pytest.approx([want["ratio"]], rel=1e-4)
    assert values(got, "train/update_ratio/head") == [0.0]


@pytest.mark.parametrize(
    ("parameter", "part", "layer"),
    [
        ("transformer.h.0.attn.c_attn.weight", "transformer", "transformer.h.0"),
        ("transformer.wte.weight", "transformer", "transformer"),
        ("head.weight", "head", "head"),
        ("0.weight", "0", "0"),
        ("scale", "model", "model"),
        ("layer1.0.conv1.weight", "layer1", "layer1.0"),
    ],
)
def test_the_name_of_a_parameter_gives_its_part_and_layer(parameter, part, layer):
    assert (part_of(parameter), layer_of(parameter)) == (part, layer)


def test_every_tag_that_is_logged_is_declared(run):
    model = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    with pb.watch(
        model, optimizer, run=run, scaler=scaler, overhead=None, every=1, histogram_interval=0, dead_units=True
    ):
        for _ in range(3):
            scaler.scale(model(torch.randint(0, 5, (2, 3))).mean()).backward()
            scaler.step(optimizer)
            scaler.update()
    logged_tags = set(logged(run).tags("scalar"))
    declared = {tag for measurement in all_measurements().values() for tag in measurement.metrics}
    filled = {
        tag.replace("{part}", part).replace("{layer}", part).replace("{name}", part).replace("{i}", "0")
        for tag in declared
        for part in "01234"
    }
    assert logged_tags <= filled
    # On one rank without a GPU these are not logged.
    absent = {tag for tag in declared if tag.startswith("rank/") or "gpu" in tag}
    for tag in declared - absent:
        assert any(tag.split("{")[0] in logged_tag for logged_tag in logged_tags), tag


@pytest.mark.parametrize("case", ["bf16", "empty", "nan", "zero", "no parameters", "no gradients"])
def test_unusual_models_are_measured_without_a_message(run, case, capsys):
    model, _ = model_and_optimizer()
    if case == "bf16":
        model.bfloat16()
    if case == "empty":
        model.register_parameter("nothing", nn.Parameter(torch.zeros(0)))
    if case == "zero":
        for p in model.parameters():
            nn.init.zeros_(p)
    if case == "no parameters":
        model = nn.Identity()
    parameters = list(model.parameters()) or [nn.Parameter(torch.zeros(1))]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    with pb.watch(model, optimizer, run=run, overhead=None, every=1, histogram_interval=0):
        for x in batches(3):
            out = model(x.bfloat16() if case == "bf16" else x)
            if case not in ("no parameters", "no gradients"):
                (out.float().mean() * (float("nan") if case == "nan" else 1.0)).backward()
            optimizer.step()
    assert capsys.readouterr().err == ""
    got = logged(run)
    if case in ("no parameters", "no gradients"):
        assert "train/gradient_flow/global_norm" not in got.tags("scalar")
        return
    norms = got.series("train/gradient_flow/global_norm").values
    weights = got.series("train/total_param_norm").values
    assert len(norms) == len(weights) == 3
    assert np.isnan(norms).all() if case == "nan" else (norms > 0).all()
    if case == "zero":
        assert np.isinf(got.series("train/update_ratio").values[0])  # the norm before the update is 0


def test_frozen_and_unused_parameters_are_distinguished(run):
    model, _ = model_and_optimizer()
    model["spare"] = nn.Linear(3, 3)
    for p in model["encoder"].parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0):
        train(model, optimizer, batches(2))
    got = logged(run)
    assert values(got, "train/gradient_flow/encoder_mean") == [0.0, 0.0]
    assert values(got, "train/gradient_flow/none_share") == [
        0.5,
        0.5,
    ]  # two of four trained parameters are unused


def test_dead_units_are_counted(run):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
    with torch.no_grad():
        model[0].bias[:3] = -1e6
        model[0].bias[3] = 1e6
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with pb.watch(
        model, optimizer, run=run, overhead=None, every={"dead_units": 1}, histogram_interval=0, dead_units=True
    ):
        train(model, optimizer, batches(2))
    assert values(logged(run), "train/dead_units/1") == [0.75, 0.75]


def test_histograms_are_logged_at_their_interval_under_the_parameters_names(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, histogram_interval=4):
        train(model, optimizer, batches(9))
    got = logged(run)
    assert [h.step for h in got.histograms("Parameters/encoder.weight")] == [0, 4, 8]
    assert [h.step for h in got.histograms("Gradients/head.bias")] == [0, 4, 8]


def test_histograms_may_have_other_tags(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(
        model, optimizer, run=run, overhead=None, histogram_interval=1, histogram_tags=("{name}", "{name}.grad")
    ):
        train(model, optimizer, batches(1))
    assert {"encoder.weight", "encoder.weight.grad"} <= set(logged(run).tags("histogram"))


def test_skipped_steps_of_mixed_precision_are_counted(run):
    model, optimizer = model_and_optimizer()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with pb.watch(model, optimizer, run=run, scaler=scaler, overhead=None, every={"amp": 1}, histogram_interval=0):
        for i, x in enumerate(batches(6)):
            loss = model(x).mean() * (float("inf") if i in (1, 2) else 1.0)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    got = logged(run)
    assert values(got, "amp/skipped_steps")[-1] == 2.0
    assert values(got, "amp/loss_scale")[0] == 1024.0
    assert values(got, "amp/loss_scale")[-1] == 256.0
