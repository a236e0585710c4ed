"""One bad run among good ones: every endpoint still answers, and the good runs look as they do without it."""

import itertools
import json
import math
import shutil
import struct
from urllib.parse import urlencode

import pytest
from builders import event_file, record, scalar, summary, tensor, version
from servers import a_server, read_columns, write_everything
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import pulseboard as pb
from pulseboard.serve.http.endpoint import load_endpoints
from pulseboard.serve.http.validation import validate
from pulseboard.tbformat import kinds

PLUGINS = [*kinds.BY_PLUGIN, "never-heard-of"]
# The tags of the good runs, so that a request about several runs meets both.
SHARED_TAGS = {
    "scalars": "loss",
    "histograms": "weights",
    "images": "samples",
    "audio": "speech",
    "text": "notes",
    "hparams": "_hparams_/session_start_info",
    "graphs": "__run_graph__",
}
GOOD_TAGS = ["loss", "odd", "weights", "samples", "speech", "notes"]

_NAN_BYTES = struct.pack("<d", float("nan"))
TENSORS = {
    "words": TensorProto(dtype=7, string_val=[b"words"]),
    "no strings": TensorProto(dtype=7),
    "three words": TensorProto(dtype=7, string_val=[b"\xff\xfe", b"-1", b"\0" * 9]),
    "half a number": TensorProto(dtype=1, tensor_content=b"\1\2\3"),
    "unknown type": TensorProto(dtype=77, tensor_content=b"\1\2\3\4"),
    "complex": TensorProto(dtype=8, scomplex_val=[1.0, 2.0]),
    "nan": TensorProto(dtype=2, tensor_content=_NAN_BYTES * 3),
}
for shape in ([2**40], [-1], [3, 3], [1, 3], [0], [1, 0, 2]):
    broadcast = TensorProto(dtype=1, float_val=[float("nan")])
    for size in shape:
        broadcast.tensor_shape.dim.add().size = size
    TENSORS[f"shape {shape}"] = broadcast


def metadata_only(tag, plugin):
    """A value that names its plugin and holds nothing. TensorBoard's reader takes it as a declaration."""
    value = Summary.Value(tag=tag)
    value.metadata.plugin_data.plugin_name = plugin
    return value


def poison():
    """The bytes of a file in which every plugin has every kind of bad value, some under the tags of good runs."""
    events = [version(), *(summary(scalar("fine", 0.1 * step), step=step) for step in range(30))]
    for plugin in PLUGINS:
        tag = SHARED_TAGS.get(plugin, f"bad/{plugin}")
        events.append(summary(metadata_only(tag, plugin), metadata_only(f"only/{plugin}", plugin), step=1))
        events += [summary(tensor(tag, proto, plugin=plugin), step=2 + i) for i, proto in enumerate(TENSORS.values())]
        for field in ("image", "audio", "histo"):
            value = metadata_only(f"{field}/{plugin}", plugin)
            getattr(value, field).SetInParent()
            events.append(summary(value, step=3))
    events += odd_numbers()
    data = event_file(*events)
    for field in ("graph_def", "meta_graph_def"):
        data += record(Event(wall_time=2.0, step=4, **{field: b"\x0a\xff\xff\xff\xff\x0f"}).SerializeToString())
    return data


def odd_numbers():
    """Sizes, edges, counts and times that no writer would choose."""
    picture = Summary.Value(tag="samples", image=Summary.Image(width=-5, height=-(2**31), encoded_image_string=b"x"))
    edges = [(-math.inf, math.inf), (math.nan, 1.0), (-1.7e308, 1.7e308), (1.0, -1.0)]
    bad = [
        HistogramProto(min=low, max=high, num=-1, bucket_limit=[low, high], bucket=[math.nan, math.inf])
        for low, high in edges
    ]
    bad += [HistogramProto(min=low, max=high, bucket_limit=[low, 0.5, high], bucket=[1, 2, 3]) for low, high in edges]
    values = [picture, *(Summary.Value(tag="weights", histo=one) for one in bad)]
    words = tensor("notes", TensorProto(dtype=7, string_val=[b"*x*"]), plugin="text")
    return [summary(*values, words, step=9 + i, wall_time=wall) for i, wall in enumerate((math.nan, math.inf, -1e300))]


def write_poisoned_runs(directory):
    """A run with everything bad, and one whose only value of the shared tags is a bare declaration."""
    for name, data in {
        "poisoned": poison(),
        "declared": event_file(
            version(),
            summary(scalar("fine", 1.0)),
            *(summary(metadata_only(tag, plugin)) for plugin, tag in SHARED_TAGS.items()),
        ),
    }.items():
        (directory / name).mkdir(parents=True)
        (directory / name / "events.out.tfevents.1").write_bytes(data)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A server of the good runs, and one that has the bad ones too."""
    directory = tmp_path_factory.mktemp("mixed")
    write_everything(directory / "good")
    shutil.copytree(directory / "good", directory / "both")
    write_poisoned_runs(directory / "both")
    with (
        a_server(directory / "good", tmp_path_factory.mktemp("home")) as good,
        a_server(directory / "both", tmp_path_factory.mktemp("home")) as both,
    ):
        yield good, both


def test_every_plugin_that_has_a_kind_is_poisoned():
    assert {"scalars", "histograms", "images", "audio", "text", "graphs", "hparams"} <= set(PLUGINS)


@pytest.fixture(scope="module")
def bad_tags(mixed):
    _, both = mixed
    return {
        name: sorted({tag["tag"] for tag in both.api(f"tags?run={name}").json["tags"]})
        for name in ("poisoned", "declared")
    }


def answers(server, endpoint, **values):
    response = server.api(f"{endpoint.path}?{urlencode(values, doseq=True)}")
    assert response.status < 500, (endpoint.path, values, response.body[:500])
    if response.status == 200 and endpoint.returns is not None:
        validate(response.json, endpoint.returns, at=f"{endpoint.path} {values}")
    return response


GETS = [methods["GET"] for path, methods in load_endpoints().items() if "GET" in methods and path != "stream"]


@pytest.mark.parametrize("endpoint", GETS, ids=lambda endpoint: endpoint.path)
def test_no_request_about_a_bad_run_is_a_server_error(mixed, bad_tags, endpoint):
    _, both = mixed
    for run, tags in bad_tags.items():
        values = {"run": [run], "tag": tags, "slug": ["loss-spike"], "family": ["layer_{i}", "fine{i}"]}
        values["sha256"] = ["0" * 64, "../run.json"]
        for combination in itertools.product(*(values[name] for name in endpoint.required)):
            answers(both, endpoint, **dict(zip(endpoint.required, combination, strict=True)))


@pytest.mark.parametrize("statistic", ["mean-sd", "median-range"])
def test_groups_of_good_and_bad_runs_are_answered(mixed, statistic):
    _, both = mixed
    runs = ["rich", "plain", "poisoned", "declared"]
    body = {"runs": runs, "tags": ["loss", "fine", *GOOD_TAGS], "statistic": statistic}
    response = both.api("groups", body)
    assert response.status == 200, response.body
    assert {tag for _, tag in read_columns(response.body)} >= {"loss", "fine"}


@pytest.mark.parametrize("options", [{}, {"x": "tag:loss"}, {"x": "wall"}, {"orphans": True}, {"log_x": True}])
def test_windows_of_good_runs_are_the_same_next_to_a_bad_one(mixed, options):
    good, both = mixed
    mine = good.window(["rich", "plain"], GOOD_TAGS, **options)
    with_bad = both.window(["rich", "plain", "poisoned", "declared"], [*GOOD_TAGS, "fine", "=loss * 2"], **options)
    for key, (_, columns) in mine.items():
        assert {n: c.tobytes() for n, c in columns.items()} == {n: c.tobytes() for n, c in with_bad[key][1].items()}
    assert ("poisoned", "fine") in with_bad or options.get("x", "").startswith("tag:")


def test_tables_and_hyperparameters_have_the_good_runs_and_the_bad_ones(mixed):
    _, both = mixed
    table = both.api("table", {"metrics": ["loss", "fine"]})
    assert table.status == 200, table.body
    assert {row[0] for row in table.json["rows"]} == {"rich", "plain", "poisoned", "declared"}
    hparams = both.api("hparams").json["runs"]
    assert hparams["rich"]["hparams"]["lr"] == 0.1
    assert hparams["poisoned"]["metrics"]["fine"] == pytest.approx(2.9)


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_exports_are_complete(mixed, form):
    _, both = mixed
    response = both.api(f"export?format={form}")
    assert response.status == 200
    if form == "csv":
        lines = response.body.decode().splitlines()
        assert sum(line.startswith("plain,") for line in lines) == 5000
        assert sum(line.startswith("poisoned,") and ",fine," in line for line in lines) == 30
    if form == "json":
        json.loads(response.body)


def test_diagnosis_ends_and_has_a_report_on_every_run(mixed):
    _, both = mixed
    both.wait_until_diagnosed()
    names = {run["run"] for run in both.api("diagnosis").json["runs"]}
    assert {"rich", "plain", "poisoned", "declared"} <= names


def test_a_declared_tag_has_no_values(tmp_path):
    write_poisoned_runs(tmp_path)
    run = pb.read(tmp_path)["declared"]
    assert "loss" not in run.tags("scalar")
    assert run.tags("histogram") == run.tags("image") == run.tags("text") == []
    assert [stats.tag for stats in run.stats()] == ["fine"]


def test_values_next_to_a_declaration_are_kept(tmp_path):
    """The file of the report: a bare declaration of a scalar tag, then 30 points, all of which TensorBoard shows."""
    points = [summary(tensor("loss", TensorProto(dtype=1, float_val=[s / 2]), plugin=None), step=s) for s in range(30)]
    (tmp_path / "events.out.tfevents.1").write_bytes(
        event_file(version(), summary(metadata_only("loss", "scalars")), *points)
    )
    run = pb.read(tmp_path)["."]
    assert run.series("loss").values.tolist() == [step / 2 for step in range(30)]
    assert run.notes() == []
