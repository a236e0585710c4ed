"""The endpoints, one by one, on a real server."""

import csv
import gzip
import io
import json

import numpy as np
import pytest
from servers import read_columns
from tensorboard.plugins.distribution import compressor

import pulseboard as pb
from pulseboard.serve.routes.histograms import BASIS_POINTS


def test_status_describes_the_server(server, logs):
    status = server.api("status").json
    assert status["version"] == pb.__version__
    assert status["directories"] == [str(logs)]
    assert status["loading"] is None
    assert status["role"] == "full"
    assert isinstance(status["findings"], bool)


def test_runs_are_listed_with_their_summaries(server):
    runs = {run["name"]: run for run in server.api("runs").json["runs"]}
    assert set(runs) == {"plain", "rich"}
    plain = runs["plain"]
    assert (plain["points"], plain["last_step"], plain["tags"], plain["ranks"]) == (5000, 4999, 1, [0])
    assert {"scalar", "histogram", "image", "audio", "text"} <= set(runs["rich"]["kinds"])
    assert runs["rich"]["aliases"] == ["rich/logs/tensorboard"]


@pytest.mark.parametrize(
    ("pattern", "names"), [("^pl", {"plain"}), ("^(?!pl)", {"rich"}), ("tensorboard$", {"rich"}), ("zzz", set())]
)
def test_runs_are_filtered_by_a_regular_expression(server, pattern, names):
    response = server.api(f"runs?filter={pattern.replace('^', '%5E').replace('?', '%3F')}")
    assert {run["name"] for run in response.json["runs"]} == names


def test_tags_are_listed_with_their_runs(server):
    tags = {tag["tag"]: tag for tag in server.api("tags?kind=scalar&names=1").json["tags"]}
    assert set(tags["loss"]["runs"]) == {"plain", "rich"}
    assert tags["odd"]["runs"] == ["rich"]
    assert {tag["tag"] for tag in server.api("tags?run=plain").json["tags"]} == {"loss"}


def test_a_window_of_few_points_contains_the_points(server, logs):
    ((_, columns),) = server.window(["rich"], ["loss"]).values()
    series = pb.read(logs)["rich"].series("loss")
    assert columns["x"].tolist() == series.steps.tolist()
    assert columns["y"].tolist() == series.values.tolist()


def test_a_window_of_many_points_keeps_the_extremes(server, logs):
    ((about, columns),) = server.window(["plain"], ["loss"], buckets=100).values()
    values = pb.read(logs)["plain"].series("loss").values
    assert about["points"] == 5000
    assert not about["exact"]
    assert len(columns["x"]) <= 100
    assert (columns["min"].min(), columns["max"].max()) == (values.min(), values.max())
    assert set(columns) == {"x", "first", "min", "max", "last"}


def test_values_are_sent_as_float32_if_that_loses_nothing(server):
    response = server.api("window", {"runs": ["plain"], "tags": ["loss"], "buckets": 10})
    header = json.loads(response.body[8 : 8 + int.from_bytes(response.body[4:8], "little")])
    assert header["series"][0]["columns"]["x"][2] == "f8"
    assert header["series"][0]["columns"]["min"][2] == "f4"


def test_nan_and_infinities_are_counted(server):
    ((about, columns),) = server.window(["rich"], ["odd"], buckets=4).values()
    assert (about["nan"], about["inf"]) == (7, 7)
    assert [int(columns[name].sum()) for name in ("nan", "plus_inf", "minus_inf")] == [7, 7, 0]


def test_a_metric_can_be_the_x_axis_of_a_window(server):
    ((_, columns),) = server.window(["rich"], ["loss"], x="tag:loss").values()
    assert columns["x"].tolist() == columns["y"].tolist() == sorted(columns["y"].tolist())
    assert server.window(["rich"], ["loss"], x="tag:unknown") == {}
    response = server.api("window", {"runs": ["rich"], "tags": ["loss"], "x": "sideways"})
    assert response.status == 400
    assert "tag:" in response.json["error"]["what"]
    metrics = server.api("x_axes?run=rich&run=plain").json["metrics"]
    assert {"tag": "loss", "rises": False} in metrics
    assert [metric["rises"] for metric in metrics] == sorted((m["rises"] for m in metrics), reverse=True)


def test_a_window_between_two_points_has_its_neighbors(server):
    ((about, columns),) = server.window(["plain"], ["loss"], **{"from": 3.2, "to": 3.8, "neighbors": True}).values()
    assert columns["x"].tolist() == [3, 4]
    assert (about["points"], about["extent"]) == (0, [0, 4999])


def test_steps_are_located_on_another_axis(server):
    places = [{"run": "plain", "tag": "loss", "step": step} for step in (0, 10)]
    ((_, columns),) = server.window(["plain"], ["loss"], x="wall", buckets=10_000).values()
    response = server.api("positions", {"x": "wall", "places": places})
    assert response.json["x"] == [columns["x"][0], columns["x"][10]]
    nowhere = [{"run": "plain", "tag": "none", "step": 0}]
    assert server.api("positions", {"x": "wall", "places": nowhere}).json["x"] == [None]
    assert server.api("positions", {"x": "sideways", "places": places}).status == 400


def test_unknown_runs_are_left_out_of_a_window_unless_all_are_unknown(server):
    assert set(server.window(["plain", "unknown"], ["loss"])) == {("plain", "loss")}
    response = server.api("window", {"runs": ["unknown"], "tags": ["loss"]})
    assert response.status == 404
    assert "unknown" in response.error


def test_smoothed_values_are_an_additional_column(server):
    smoothing = {"kind": "debiased", "weight": 0.9}
    ((about, columns),) = server.window(["rich"], ["loss"], smoothing=smoothing).values()
    assert about["smoothed"]
    last, debiased = 0.0, []
    for i, value in enumerate(columns["y"].tolist()):
        last = last * 0.9 + 0.1 * value
        debiased.append(last / (1 - 0.9 ** (i + 1)))
    np.testing.assert_allclose(columns["smooth"], debiased, rtol=1e-6)


@pytest.mark.parametrize("statistic", ["mean-sd", "mean-se", "mean-95", "median-range"])
def test_groups_have_a_center_and_a_band(server, statistic):
    response = server.api(
        "groups",
        {"runs": ["plain", "rich"], "tags": ["loss"], "by": {"regex": "."}, "statistic": statistic, "to": 19},
    )
    assert response.status == 200, response.body
    header = json.loads(response.body[8 : 8 + int.from_bytes(response.body[4:8], "little")])
    assert {(s["group"], tuple(s["runs"])) for s in header["series"]} == {("p", ("plain",)), ("r", ("rich",))}
    assert set(header["series"][0]["columns"]) == {"x", "y", "low", "high", "count"}


def test_a_smoothed_group_has_a_smooth_center_and_band(server):
    smoothing = {"kind": "debiased", "weight": 0.9}
    body = {"runs": ["plain", "rich"], "tags": ["loss"], "to": 19, "smoothing": smoothing}
    ((_, columns),) = read_columns(server.api("groups", body).body).values()
    assert set(columns) == {"x", "y", "low", "high", "count", "smooth", "smooth_low", "smooth_high"}
    assert columns["smooth"].tolist() != columns["y"].tolist()


def test_a_group_of_two_runs_has_their_mean(server):
    body = {"runs": ["plain", "rich"], "tags": ["loss"], "statistic": "mean-sd", "to": 19}
    ((about, columns),) = read_columns(server.api("groups", body).body).values()
    assert sorted(about["runs"]) == ["plain", "rich"]
    at = columns["x"].tolist().index(0.0)
    assert columns["y"][at] == pytest.approx((1.0 + 0.5) / 2)


def test_a_table_has_hparams_and_metrics(server):
    response = server.api("table", {"metrics": ["loss"]})
    assert response.status == 200, response.body
    made = response.json
    names = [column["name"] for column in made["columns"]]
    row = next(dict(zip(names, row, strict=True)) for row in made["rows"] if row[0] == "rich")
    assert row["lr"] == pytest.approx(0.1)
    assert (row["loss (last)"], row["loss (min)"], row["loss (max)"]) == (19.5, 0.5, 19.5)


def test_hparams_come_by_run(server):
    runs = server.api("hparams").json["runs"]
    assert runs["rich"]["hparams"]["lr"] == pytest.approx(0.1)
    assert runs["rich"]["metrics"]["loss"] == 19.5


def test_points_are_paged_and_nan_is_a_string(server):
    page = server.api("points?run=rich&tag=odd&offset=3&limit=3").json
    assert (page["total"], page["steps"], page["values"]) == (20, [3, 4, 5], ["nan", "inf", 1.0])


def test_aliases_work_as_run_names(server):
    assert server.api("points?run=rich/logs/tensorboard&tag=loss&limit=1").json["run"] == "rich"


def test_histograms_share_thirty_buckets_and_keep_their_counts(server):
    made = server.api("histograms?run=rich&tag=weights&limit=5").json
    assert len(made["steps"]) == 5
    assert (made["steps"][0], made["steps"][-1]) == (0, 19)
    assert made["total"] == 20
    for lefts, rights, counts in zip(made["lefts"], made["rights"], made["counts"], strict=True):
        assert len(lefts) == len(rights) == len(counts) == 30
        assert sum(counts) == pytest.approx(200)


def test_distributions_match_tensorboard(server, logs):
    made = server.api("distributions?run=rich&tag=weights").json
    assert made["basis_points"] == list(BASIS_POINTS)
    for one, values in zip(pb.read(logs)["rich"].histograms("weights"), made["values"], strict=True):
        buckets = np.stack([one.lefts, one.rights, one.counts], axis=1)
        expected = [value for _, value in compressor.compress_histogram(buckets, BASIS_POINTS)]
        np.testing.assert_allclose(values, expected)


def test_images_and_audio_clips_have_their_media_types(server):
    (item,) = server.api("images?run=rich&tag=samples").json["items"]
    assert (item["width"], item["height"], item["media_type"], item["frames"]) == (6, 4, "image/png", 1)
    image = server.api("image?run=rich&tag=samples&index=0")
    assert image.body.startswith(b"\x89PNG")
    assert image.headers["content-type"] == "image/png"
    assert "sandbox" in image.headers["content-security-policy"]
    (clip,) = server.api("audio?run=rich&tag=speech").json["items"]
    assert clip["media_type"] == "audio/wav"
    assert server.api("clip?run=rich&tag=speech&index=0").body.startswith(b"RIFF")
    assert server.api("image?run=rich&tag=samples&index=1").status == 404


def test_texts_are_sanitized(server):
    texts = server.api("texts?run=rich&tag=notes").json
    (item,) = texts["items"]
    assert texts["total"] == 1
    assert "<script>" in item["text"]
    assert "<strong>bold</strong>" in item["html"]
    for evil in ("<script", 'href="javascript', "<img"):
        assert evil not in item["html"]


def test_restarts_are_listed(server):
    assert server.api("restarts?run=plain").json == {"restarts": []}


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_exports_contain_the_logged_values(server, logs, form):
    response = server.api(f"export?format={form}&run=rich&tag=loss")
    assert response.status == 200
    assert f'filename="pulseboard.{form}"' in response.headers["content-disposition"]
    expected = pb.read(logs)["rich"].series("loss").values.tolist()
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(response.body.decode())))
        assert [float(row["value"]) for row in rows] == expected
        assert {row["run"] for row in rows} == {"rich"}
    elif form == "json":
        assert response.json["series"][0]["values"] == expected
    else:
        import pyarrow.parquet as pq

        assert pq.read_table(io.BytesIO(response.body))["value"].to_pylist() == expected


def test_an_export_by_post_is_the_same_file(server):
    body = {"runs": ["rich", "plain"], "tags": ["loss"]}
    assert server.api("export", body).body == server.api("export?run=rich&run=plain&tag=loss").body
    assert server.api("export", {}).body == server.api("export").body


def test_an_export_of_everything_has_every_point(server, logs):
    rows = server.api("export").body.decode().splitlines()
    assert len(rows) - 1 == sum(run.points for run in pb.read(logs).values())


# ---- caching and compression


@pytest.mark.parametrize("path", ["runs", "tags", "points?run=plain&tag=loss", "histograms?run=rich&tag=weights"])
def test_an_unchanged_response_is_not_sent_again(server, path):
    first = server.api(path)
    again = server.api(path, headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_an_unchanged_window_is_not_sent_again_but_a_different_one_is(server):
    query = {"runs": ["plain"], "tags": ["loss"], "buckets": 100}
    tag = server.api("window", query).headers["etag"]
    assert server.api("window", query, headers={"if-none-match": tag}).status == 304
    assert server.api("window", {**query, "buckets": 101}, headers={"if-none-match": tag}).status == 200


def test_json_is_compressed_if_the_client_accepts_it(server):
    plain = server.api("points?run=plain&tag=loss")
    compressed = server.api("points?run=plain&tag=loss", headers={"accept-encoding": "gzip, deflate"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(compressed.body) == plain.body
    assert len(compressed.body) < len(plain.body) / 2
    assert (
        "content-encoding"
        not in server.api("points?run=plain&tag=loss", headers={"accept-encoding": "gzip;q=0"}).headers
    )


def test_columns_are_compressed_for_clients_behind_ssh(serve, logs):
    remote = serve(logs, env={"SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22"})
    query = {"runs": ["plain"], "tags": ["loss"], "buckets": 1000}
    assert remote.api("window", query, headers={"accept-encoding": "gzip"}).headers["content-encoding"] == "gzip"


def test_a_head_request_has_no_body(server):
    response = server.api("status", method="HEAD")
    assert (response.status, response.body) == (200, b"")


# ---- the document


def test_no_documented_endpoint_is_missing(server):
    paths = server.api("openapi.json").json["paths"]
    documented = (
        "status runs tags window groups table points histograms distributions images audio image clip texts hparams "
        "graph modules restarts diagnosis guide meaning marks export stream openapi.json"
    )
    assert set(documented.split()) <= {path.lstrip("/") for path in paths}
    assert set(paths["/marks"]) >= {"get", "put"}
    assert paths["/window"]["post"]["requestBody"]["required"]


@pytest.mark.parametrize(
    ("wanted", "status", "part"),
    [
        ("bytes=0-3", 206, slice(0, 4)),
        ("bytes=4-", 206, slice(4, None)),
        ("bytes=-5", 206, slice(-5, None)),
        ("bytes=10-999999", 206, slice(10, None)),
        ("bytes=999999-", 416, slice(0, 0)),
        ("bytes=-0", 416, slice(0, 0)),
        ("bytes=5-2", 200, slice(None)),
        ("bytes=0-1,4-5", 200, slice(None)),
        ("lines=0-1", 200, slice(None)),
    ],
)
def test_audio_can_be_requested_in_parts(server, wanted, status, part):
    whole = server.api("clip?run=rich&tag=speech")
    response = server.api("clip?run=rich&tag=speech", headers={"range": wanted})
    assert (response.status, response.body) == (status, whole.body[part])
    assert whole.headers["accept-ranges"] == "bytes"
    if status == 206:
        first = part.indices(len(whole.body))[0]
        last = first + len(response.body) - 1
        assert response.headers["content-range"] == f"bytes {first}-{last}/{len(whole.body)}"
    changed = {"range": wanted, "if-range": '"other"'}
    assert server.api("clip?run=rich&tag=speech", headers=changed).body == whole.body
