"""watch and models out of the ordinary: sparse gradients, lazy modules, copies, saved models, several networks."""

import copy
import subprocess
import sys

import pytest
import torch
from instruments.watch.watched_training import EVERY_STEP, batches, logged, model_and_optimizer, train, values
from torch import nn

import pulseboard as pb

NORM = "train/gradient_flow/global_norm"
MEASURE_ALL = {"overhead": None, "every": EVERY_STEP, "histogram_interval": 1}


class Words(nn.Module):
    """The mean embedding of the words, and a number from it."""

    def __init__(self, sparse):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(50, 4, sparse=sparse)
        self.head = nn.Linear(4, 1)

    def forward(self, words):
        return self.head(self.embedding(words).mean(1))


def train_words(run, *, sparse):
    model = Words(sparse)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pb.watch(model, optimizer, run=run, **MEASURE_ALL):
        for words in (torch.tensor([[1, 2, 2], [3, 1, 4]]), torch.tensor([[7, 8, 9], [7, 7, 7]])):
            optimizer.zero_grad()
            model(words).square().mean().backward()
            optimizer.step()
    return logged(run)


def test_sparse_gradients_give_the_numbers_of_dense_ones(tmp_path, capsys):
    got = {}
    for sparse in (False, True):
        run = pb.init(dir=tmp_path / str(sparse), telemetry_secs=0, strict=True)
        got[sparse] = train_words(run, sparse=sparse)
    for tag in got[False].tags("scalar"):
        if "performance" not in tag and "overhead" not in tag:
            assert values(got[True], tag) == pytest.approx(values(got[False], tag), rel=1e-4), tag
    assert got[True].tags("histogram") == got[False].tags("histogram")
    assert "stopped" not in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature:UserWarning")
def test_lazy_modules_are_watched_and_counted_once_they_have_a_shape(run):
    torch.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(16), nn.ReLU(), nn.LazyLinear(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pb.watch(model, optimizer, run=run, **MEASURE_ALL):
        train(model, optimizer, batches(3))
    got = logged(run)
    assert len(got.series(NORM)) == 3
    assert run.config["watch"]["parameters"] == 8 * 16 + 16 + 16 + 1


def test_a_watched_model_can_be_saved_whole_and_loaded_without_pulseboard(run, tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pb.watch(model, optimizer, run=run, dead_units=True, **MEASURE_ALL):
        train(model, optimizer, batches(1))
        torch.save({"model": model, "optimizer": optimizer}, tmp_path / "model.pt")
        train(model, optimizer, batches(2))
        expected = torch.load(tmp_path / "model.pt", weights_only=False)["model"](torch.ones(1, 8))
    script = (
        "import sys, torch; sys.modules['pulseboard'] = None\n"
        "model = torch.load(sys.argv[1], weights_only=False)['model']\n"
        "print(model(torch.ones(1, 8)).item())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "model.pt")], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout) == expected.item()
    assert len(logged(run).series(NORM)) == 3  # the model goes on being watched


def test_a_deep_copied_model_is_not_watched(run):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    every = {**EVERY_STEP, "dead_units": 1}
    with pb.watch(model, optimizer, run=run, overhead=None, every=every, histogram_interval=0, dead_units=True):
        averaged = torch.optim.swa_utils.AveragedModel(model)
        copied = copy.deepcopy(model)
        with torch.no_grad():
            copied[0].bias.fill_(-1e6)  # all of its units are dead
        for x in batches(3):
            train(model, optimizer, [x])
            averaged.update_parameters(model)
            averaged(x), copied(x)
    got = logged(run)
    assert max(values(got, "train/dead_units/1")) < 1
    samples, times = (values(got, f"train/performance/{name}") for name in ("samples_per_second", "step_time_ms"))
    assert [s * t / 1000 for s, t in zip(samples, times, strict=True)] == pytest.approx([4.0, 4.0], rel=1e-3)


class Generator(nn.Linear):
    pass


class Discriminator(nn.Linear):
    pass


def adversaries():
    torch.manual_seed(0)
    networks = Generator(8, 8), Discriminator(8, 1)
    return networks, [torch.optim.SGD(network.parameters(), lr=0.01) for network in networks]


def train_adversaries(networks, optimizers):
    generator, discriminator = networks
    for x in batches(3):
        for optimizer, sign in zip(optimizers, (1, -1), strict=True):
            optimizer.zero_grad()
            (sign * discriminator(generator(x)).mean()).backward()
            optimizer.step()


def test_two_networks_of_one_run_have_their_own_tags(run):
    networks, optimizers = adversaries()
    watches = [pb.watch(*pair, run=run, **MEASURE_ALL) for pair in zip(networks, optimizers, strict=True)]
    train_adversaries(networks, optimizers)
    for watch in watches:
        watch.close()
    got = logged(run)
    assert NORM not in got.tags("scalar")
    for name in ("generator", "discriminator"):
        assert len(got.series(f"{name}/{NORM}")) == 3
        assert f"{name}/Parameters/weight" in got.tags("histogram")
    assert run.config["watch"]["generator"]["parameters"] == 72
    assert run.config["watch"]["discriminator"]["parameters"] == 9


def test_a_prefix_goes_before_every_tag(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, prefix="student", **MEASURE_ALL):
        train(model, optimizer, batches(2))
    tags = logged(run).tags("scalar")
    assert f"student/{NORM}" in tags
    assert all(tag.startswith("student/") for tag in tags)


def test_two_networks_of_the_same_class_are_numbered(run):
    first, second = model_and_optimizer(), model_and_optimizer(seed=1)
    with pb.watch(*first, run=run, **MEASURE_ALL), pb.watch(*second, run=run, **MEASURE_ALL):
        train(*first, batches(2))
        train(*second, batches(2))
    tags = logged(run).tags("scalar")
    assert f"module_dict_1/{NORM}" in tags
    assert f"module_dict_2/{NORM}" in tags


def test_a_network_that_has_logged_already_keeps_its_tags(run):
    networks, optimizers = adversaries()
    with pb.watch(networks[0], optimizers[0], run=run, **MEASURE_ALL):
        train_adversaries(networks, optimizers)
        with pb.watch(networks[1], optimizers[1], run=run, **MEASURE_ALL):
            train_adversaries(networks, optimizers)
    got = logged(run)
    assert len(got.series(NORM)) == 6
    assert len(got.series(f"discriminator/{NORM}")) == 3


def test_watching_a_model_again_replaces_the_earlier_watch(run):
    model, optimizer = model_and_optimizer()
    for _ in range(2):
        watch = pb.watch(model, optimizer, run=run, **MEASURE_ALL)
        train(model, optimizer, batches(2))
    watch.close()
    got = logged(run)
    assert got.series(NORM).steps.tolist() == [0, 1, 2, 3]
    assert len(model._forward_hooks) == 0
