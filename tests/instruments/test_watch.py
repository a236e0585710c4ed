"""watch: what it logs against plain definitions, and that the training does not notice it."""

import gc
import json
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from torch import nn

import pulseboard as pb
from pulseboard.instruments.watch import layer_of, part_of
from pulseboard.instruments.watched import WATCHED
from pulseboard.record import report


@pytest.fixture
def run(tmp_path):
    report.forget()
    with pb.init(dir=tmp_path / "runs", run_id="r", telemetry_secs=0, strict=True) as run:
        yield run


def model_and_optimizer(seed=0, lr=0.1):
    torch.manual_seed(seed)
    model = nn.ModuleDict({"encoder": nn.Linear(8, 16), "head": nn.Linear(16, 1)})
    model.forward = lambda x: model["head"](torch.relu(model["encoder"](x)))
    return model, torch.optim.SGD(model.parameters(), lr=lr)


def batches(n, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(4, 8, generator=generator) for _ in range(n)]


def train(model, optimizer, data, *, after_backward=None, accumulate=1):
    for i, x in enumerate(data):
        (model(x) - x.sum(1, keepdim=True)).square().mean().div(accumulate).backward()
        if (i + 1) % accumulate == 0:
            if after_backward:
                after_backward()
            optimizer.step()
            optimizer.zero_grad()


def logged(run):
    run.finish()
    (got,) = pb.read(run.directory.parent).values()
    return got


def values(got, tag):
    return got.series(tag).values.tolist()


EVERY_STEP = dict.fromkeys(
    ["gradient_norm", "gradient_flow", "parameter_norm", "update", "sparsity", "learning_rate", "performance"], 1
)


def test_norms_and_ratios_are_what_they_are_by_definition(run):
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
def test_what_a_step_leaves_in_the_gradients_is_told(run, how, accumulate):
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
    assert got == pytest.approx(after[:-1])  # of the first step there is nothing to be left
    assert any(got) == (how == "never")


def test_layers_and_parts_are_measured_each(run):
    torch.manual_seed(0)
    model = nn.ModuleDict({"blocks": nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)]), "head": nn.Linear(8, 1)})
    model.forward = lambda x: model["head"](model["blocks"][1](torch.tanh(model["blocks"][0](x))))
    # The head is left out, as by a mistake: it has gradients, and nothing moves it.
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
def test_a_parameters_name_says_its_part_and_layer(parameter, part, layer):
    assert (part_of(parameter), layer_of(parameter)) == (part, layer)


def test_what_is_known_of_the_training_is_in_the_runs_config(run):
    model, _ = model_and_optimizer()
    model["encoder"].bias.requires_grad_(False)
    groups = [{"params": [model["encoder"].weight], "weight_decay": 0.1}, {"params": model["head"].parameters()}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.0)
    with pb.watch(model, optimizer, run=run, clip_norm=1.0):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(batches(1)[0]).float().mean()
        loss.backward()
        optimizer.step()
    told = json.loads((run.directory / "run.json").read_text())["config"]["watch"]
    assert told == {
        "parameters": 8 * 16 + 16 + 16 + 1,
        "trained_parameters": 8 * 16 + 16 + 1,
        "world_size": 1,
        "amp": True,
        "precision": "bfloat16",
        "clip_norm": 1.0,
        "optimizer": "AdamW",
        "param_groups": 2,
        "lr": 1e-3,
        "betas": [0.9, 0.999],
        "eps": 1e-8,
        "weight_decay": 0.1,
        "amsgrad": False,
    }


def test_the_context_of_plain_sgd_says_that_there_is_no_mixed_precision(run):
    model, _ = model_and_optimizer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with pb.watch(model, optimizer, run=run):
        train(model, optimizer, batches(1))
    told = run.config["watch"]
    assert (told["optimizer"], told["momentum"], told["amp"], told["precision"]) == ("SGD", 0.9, False, "float32")
    assert "clip_norm" not in told
    assert "betas" not in told


def test_one_number_sets_every_cadence(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, every=3, histogram_interval=0):
        train(model, optimizer, batches(7))
    got = logged(run)
    assert got.tags("scalar")
    for tag in got.tags("scalar"):
        assert set(got.series(tag).steps.tolist()) <= {0, 3, 6}, tag
    assert got.series("train/gradient_flow/global_norm").steps.tolist() == [0, 3, 6]


def test_a_cadence_of_nought_is_never(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, every={"gradient_flow": 0}, histogram_interval=0):
        train(model, optimizer, batches(3))
    assert "train/gradient_flow/head_mean" not in logged(run).tags("scalar")


def test_a_short_run_has_curves_too(run):
    model, optimizer = model_and_optimizer(lr=1e-3)
    with pb.watch(
        model, optimizer, run=run, overhead=None, every={"parameter_norm": 100}, histogram_interval=0
    ) as watching:
        assert not watching.schedule.due("histograms", 0)
        train(model, optimizer, batches(4) * 80)
    got = logged(run)
    assert got.series("train/update_ratio").steps.tolist() == [*range(0, 100, 10), 100, 200, 300]
    assert got.series("train/gradient_flow/zero_share").steps.tolist() == [*range(0, 100, 10)]
    assert got.series("train/total_param_norm").steps.tolist() == [0, 100, 200, 300]  # asked for


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
    declared = {tag for watched in WATCHED.values() for tag in watched.metrics}
    filled = {
        tag.replace("{part}", part).replace("{layer}", part).replace("{name}", part).replace("{i}", "0")
        for tag in declared
        for part in "01234"
    }
    assert logged_tags <= filled
    # On one rank without a GPU these have nothing to say; the first scale has not fallen yet.
    absent = {tag for tag in declared if tag.startswith("rank/") or "gpu" in tag}
    for tag in declared - absent:
        assert any(tag.split("{")[0] in one for one in logged_tags), tag


@pytest.mark.parametrize("hard", ["bf16", "empty", "nan", "zero", "no parameters", "no gradients"])
def test_hard_models_are_measured_without_a_word(run, hard, capsys):
    model, _ = model_and_optimizer()
    if hard == "bf16":
        model.bfloat16()
    if hard == "empty":
        model.register_parameter("nothing", nn.Parameter(torch.zeros(0)))
    if hard == "zero":
        for p in model.parameters():
            nn.init.zeros_(p)
    if hard == "no parameters":
        model = nn.Identity()
    parameters = list(model.parameters()) or [nn.Parameter(torch.zeros(1))]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    with pb.watch(model, optimizer, run=run, overhead=None, every=1, histogram_interval=0):
        for x in batches(3):
            out = model(x.bfloat16() if hard == "bf16" else x)
            if hard not in ("no parameters", "no gradients"):
                (out.float().mean() * (float("nan") if hard == "nan" else 1.0)).backward()
            optimizer.step()
    assert capsys.readouterr().err == ""
    got = logged(run)
    if hard in ("no parameters", "no gradients"):
        assert "train/gradient_flow/global_norm" not in got.tags("scalar")
        return
    norms = got.series("train/gradient_flow/global_norm").values
    weights = got.series("train/total_param_norm").values
    assert len(norms) == len(weights) == 3
    assert np.isnan(norms).all() if hard == "nan" else (norms > 0).all()
    if hard == "zero":
        assert np.isinf(got.series("train/update_ratio").values[0])  # from nothing to something


def test_an_evaluation_is_no_part_of_a_step(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, every=1, histogram_interval=0):
        for step, x in enumerate(batches(6)):
            if step == 4:
                model.eval()
                model(x)
                time.sleep(0.3)
                model.train()
            train(model, optimizer, [x])
    assert max(values(logged(run), "train/performance/step_time_ms")) < 250


def test_the_training_itself_is_bit_for_bit_the_same(run):
    plain, plain_optimizer = model_and_optimizer()
    train(plain, plain_optimizer, batches(20))
    watched, optimizer = model_and_optimizer()
    with pb.watch(watched, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=5, dead_units=True):
        train(watched, optimizer, batches(20))
    for a, b in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(a, b)


def test_frozen_and_unused_parameters_are_told_apart(run):
    model, _ = model_and_optimizer()
    model["spare"] = nn.Linear(3, 3)
    for p in model["encoder"].parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0):
        train(model, optimizer, batches(2))
    got = logged(run)
    assert values(got, "train/gradient_flow/encoder_mean") == [0.0, 0.0]
    assert values(got, "train/gradient_flow/none_share") == [0.5, 0.5]  # spare's two of four that are trained


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


def test_histograms_come_at_their_interval_under_the_parameters_names(run):
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


def test_accumulated_gradients_are_one_step(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0):
        train(model, optimizer, batches(12), accumulate=3)
    got = logged(run)
    assert got.series("train/gradient_flow/global_norm").steps.tolist() == [0, 1, 2, 3]
    samples = values(got, "train/performance/samples_per_second")
    times = values(got, "train/performance/step_time_ms")
    assert [s * t / 1000 for s, t in zip(samples, times, strict=True)] == pytest.approx([12.0] * len(samples), rel=1e-3)


def test_the_steps_are_those_of_the_loop_also_when_it_resumes(run):
    model, optimizer = model_and_optimizer()
    run.log({"loss": 1.0}, step=1000)
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0):
        for step, x in enumerate(batches(3), start=1001):
            run.log({"loss": 1.0}, step=step)
            train(model, optimizer, [x])
    assert logged(run).series("train/gradient_flow/global_norm").steps.tolist() == [1001, 1002, 1003]


def test_watching_does_not_move_the_loops_own_count(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, histogram_interval=0):
        for x in batches(3):
            train(model, optimizer, [x])
            run.log({"loss": 1.0})
    assert logged(run).series("loss").steps.tolist() == [0, 1, 2]


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


def test_a_compiled_model_is_watched(run):
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    model = torch.compile(inner, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=2):
        train(model, optimizer, batches(3))
    got = logged(run)
    assert len(got.series("train/gradient_flow/global_norm")) == 3
    assert "Parameters/0.weight" in got.tags("histogram")


def test_a_typed_instrument_is_called_at_its_own_cadence_for_each_level(run):
    from pulseboard.instruments.collapse import collapse
    from pulseboard.instruments.stability import Stability

    model, optimizer = model_and_optimizer()
    stability = Stability(window_steps=10)
    with pb.watch(model, optimizer, run=run, overhead=None, histogram_interval=0) as watching:
        for x in batches(201):
            for level in (0, 1):
                watching.measure(collapse, torch.randn(16, 4), level=level)
            watching.measure(stability, 1.0)
            train(model, optimizer, [x])
        with pytest.raises(ValueError, match="not declared as an instrument"):
            watching.measure(dict)
    got = logged(run)
    for level in (0, 1):
        assert got.series(f"train/collapse/level{level}_effective_rank").steps.tolist() == [0, 100, 200]
    assert len(got.series("train/stability/loss_smoothness")) == 201


def test_closing_removes_every_hook(run):
    model, optimizer = model_and_optimizer()
    watching = pb.watch(model, optimizer, run=run, dead_units=True)
    watching.close()
    assert not model._forward_hooks
    assert not model._forward_pre_hooks
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks
    train(model, optimizer, batches(2))
    assert logged(run).tags() == []


def test_a_failing_instrument_never_reaches_the_loop(run, capsys, monkeypatch):
    model, optimizer = model_and_optimizer()
    watching = pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0)

    def broken():
        raise RuntimeError("boom")

    monkeypatch.setattr(watching, "_sparsity", broken)
    train(model, optimizer, batches(4))
    watching.close()
    assert capsys.readouterr().err.count("The instrument sparsity stopped at step 0: RuntimeError: boom") == 1
    assert len(logged(run).series("train/gradient_flow/global_norm")) == 4


def test_wrong_calls_are_told_what_to_do(tmp_path):
    model, optimizer = model_and_optimizer()
    if (before := pb.current_run()) is not None:
        before.finish()
    with pytest.raises(ValueError, match=r"call pulseboard.init\(\) first"):
        pb.watch(model, optimizer)
    with pb.init(dir=tmp_path, telemetry_secs=0), pytest.raises(ValueError, match="has no cadence 'gradients'"):
        pb.watch(model, optimizer, every={"gradients": 1})
    with pb.init(dir=tmp_path, telemetry_secs=0), pytest.raises(ValueError, match="histogram_tags are two tags"):
        pb.watch(model, optimizer, histogram_tags=("weights", "gradients"))


def test_ten_thousand_steps_leave_nothing_behind(run):
    model, optimizer = model_and_optimizer(lr=1e-3)
    data = batches(4)
    with pb.watch(model, optimizer, run=run, overhead=None, histogram_interval=1000):
        train(model, optimizer, data * 250)
        run.flush()
        gc.collect()
        before = sum(1 for o in gc.get_objects() if issubclass(type(o), torch.Tensor))
        train(model, optimizer, data * 2500)
        run.flush()
        gc.collect()
        after = sum(1 for o in gc.get_objects() if issubclass(type(o), torch.Tensor))
    assert after <= before + 2


RANKED = """
import sys
import torch
import torch.distributed as dist
from torch import nn
import pulseboard as pb

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
mode = sys.argv[2]
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))  # 3 do not divide among 2 or 4
plain = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
plain.load_state_dict(model.state_dict())
if mode == "ddp":
    model = nn.parallel.DistributedDataParallel(model)
else:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    shape = (dist.get_world_size(),) if mode == "fsdp" else (2, dist.get_world_size() // 2)  # hybrid: two copies
    fully_shard(model, mesh=init_device_mesh("cpu", shape, mesh_dim_names=("copies", "shards")[-len(shape):]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
plain_optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
run = pb.init(dir=sys.argv[1], telemetry_secs=0, strict=True)
watching = pb.watch(model, optimizer, run=run, every=1, overhead=None, histogram_interval=0)
for step in range(4):
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(step))  # the same on every rank
    for m, o in ((model, optimizer), (plain, plain_optimizer)):
        o.zero_grad()
        m(x).square().mean().backward()
    flat = torch.cat([p.grad.flatten() for p in plain.parameters()])
    first = torch.cat([p.grad.flatten() for p in plain[0].parameters()])
    weights = torch.cat([p.detach().flatten() for p in plain.parameters()])
    run.log({"want/norm": flat.norm(), "want/zeros": (flat == 0).float().mean(), "want/mean": first.abs().mean(),
             "want/max": first.abs().max(), "want/layer": first.norm(),
             "want/ratio": 0.1 * flat.norm() / weights.norm(), "want/update": 0.1 * flat.abs().mean()})
    assert run.last_step == step, "watching moved the loop's own count"
    optimizer.step()
    plain_optimizer.step()
watching.close()
dist.barrier()
run.finish()
dist.destroy_process_group()
"""


@pytest.mark.parametrize(("mode", "processes"), [("ddp", 2), ("ddp", 4), ("fsdp", 2), ("fsdp", 4), ("hybrid", 4)])
def test_many_ranks_agree_on_the_whole_models_norms(tmp_path, mode, processes):
    script = tmp_path / "train.py"
    script.write_text(RANKED)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    done = subprocess.run(
        [*launch, str(script), str(tmp_path / "runs"), mode], capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (run,) = pb.read(tmp_path / "runs").values()
    for tag, want in [
        ("train/gradient_flow/global_norm", "norm"),
        ("train/gradient_flow/zero_share", "zeros"),
        ("train/gradient_flow/0_mean", "mean"),
        ("train/gradient_flow/0_max", "max"),
        ("train/gradient_flow/0_norm", "layer"),
        ("train/update_ratio", "ratio"),
        ("train/learning_rate/avg_param_update", "update"),
    ]:
        assert values(run, tag) == pytest.approx(values(run, f"want/{want}"), rel=1e-4), tag
    assert sorted(run.ranks) == list(range(processes))
    for rank in range(1, processes):
        # The first step has no step before it to measure from.
        for tag in ("rank/step_time", "rank/forward_time", "rank/data_time"):
            assert len(run.series(tag, rank=rank)) == 3, tag
        assert len(run.series("rank/memory_rss", rank=rank)) == 4
        assert (run.series("rank/memory_rss", rank=rank).values > 1e6).all()
        if mode == "ddp":
            own = run.series("rank/param_checksum", rank=rank).values
            assert own.tolist() == run.series("rank/param_checksum").values.tolist()
