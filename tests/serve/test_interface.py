"""The interface, row by row, asked of a real server."""

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


def test_status_says_what_is_shown(board, logs):
    status = board.api("status").json
    assert status["version"] == pb.__version__
    assert status["directories"] == [str(logs)]
    assert status["loading"] is None
    assert status["role"] == "full"
    assert isinstance(status["findings"], bool)


def test_runs_are_listed_with_what_a_table_shows(board):
    runs = {run["name"]: run for run in board.api("runs").json["runs"]}
    assert set(runs) == {"plain", "rich"}
    plain = runs["plain"]
    assert (plain["points"], plain["last_step"], plain["tags"], plain["ranks"]) == (5000, 4999, 1, [0])
    assert {"scalar", "histogram", "image", "audio", "text"} <= set(runs["rich"]["kinds"])
    assert runs["rich"]["aliases"] == ["rich/logs/tensorboard"]


@pytest.mark.parametrize(
    ("pattern", "names"), [("^pl", {"plain"}), ("^(?!pl)", {"rich"}), ("tensorboard$", {"rich"}), ("zzz", set())]
)
def test_runs_are_filtered_by_a_regular_expression(board, pattern, names):
    answer = board.api(f"runs?filter={pattern.replace('^', '%5E').replace('?', '%3F')}")
    assert {run["name"] for run in answer.json["runs"]} == names


def test_tags_are_listed_with_their_runs(board):
    tags = {tag["tag"]: tag for tag in board.api("tags?kind=scalar&names=1").json["tags"]}
    assert set(tags["loss"]["runs"]) == {"plain", "rich"}
    assert tags["odd"]["runs"] == ["rich"]
    assert {tag["tag"] for tag in board.api("tags?run=plain").json["tags"]} == {"loss"}


def test_a_window_of_few_points_is_the_points(board, logs):
    ((_, columns),) = board.window(["rich"], ["loss"]).values()
    series = pb.read(logs)["rich"].series("loss")
    assert columns["x"].tolist() == series.steps.tolist()
    assert columns["y"].tolist() == series.values.tolist()


def test_a_window_of_many_points_keeps_the_extremes(board, logs):
    ((about, columns),) = board.window(["plain"], ["loss"], buckets=100).values()
    values = pb.read(logs)["plain"].series("loss").values
    assert about["points"] == 5000
    assert not about["exact"]
    assert len(columns["x"]) <= 100
    assert (columns["min"].min(), columns["max"].max()) == (values.min(), values.max())
    assert set(columns) == {"x", "first", "min", "max", "last"}


def test_values_travel_in_half_the_bytes_where_that_loses_nothing(board):
    answer = board.api("window", {"runs": ["plain"], "tags": ["loss"], "buckets": 10})
    header = json.loads(answer.body[8 : 8 + int.from_bytes(answer.body[4:8], "little")])
    assert header["series"][0]["columns"]["x"][2] == "f8"
    assert header["series"][0]["columns"]["min"][2] == "f4"


def test_nan_and_infinities_are_counted(board):
    ((about, columns),) = board.window(["rich"], ["odd"], buckets=4).values()
    assert (about["nan"], about["inf"]) == (7, 7)
    assert [int(columns[name].sum()) for name in ("nan", "plus_inf", "minus_inf")] == [7, 7, 0]


def test_runs_that_are_gone_are_left_out_of_a_window_and_all_gone_is_said(board):
    assert set(board.window(["plain", "nobody"], ["loss"])) == {("plain", "loss")}
    answer = board.api("window", {"runs": ["nobody"], "tags": ["loss"]})
    assert answer.status == 404
    assert "nobody" in answer.error


def test_smoothing_comes_beside_the_values(board):
    smoothing = {"kind": "debiased", "weight": 0.9}
    ((about, columns),) = board.window(["rich"], ["loss"], smoothing=smoothing).values()
    assert about["smoothed"]
    last, debiased = 0.0, []
    for i, value in enumerate(columns["y"].tolist()):
        last = last * 0.9 + 0.1 * value
        debiased.append(last / (1 - 0.9 ** (i + 1)))
    np.testing.assert_allclose(columns["smooth"], debiased, rtol=1e-6)


@pytest.mark.parametrize("statistic", ["mean-sd", "mean-se", "mean-95", "median-range"])
def test_groups_have_a_middle_and_a_band(board, statistic):
    answer = board.api(
        "groups",
        {"runs": ["plain", "rich"], "tags": ["loss"], "by": {"regex": "."}, "statistic": statistic, "to": 19},
    )
    assert answer.status == 200, answer.body
    header = json.loads(answer.body[8 : 8 + int.from_bytes(answer.body[4:8], "little")])
    assert {(s["group"], tuple(s["runs"])) for s in header["series"]} == {("p", ("plain",)), ("r", ("rich",))}
    assert set(header["series"][0]["columns"]) == {"x", "y", "low", "high", "count"}


def test_a_group_of_two_runs_has_their_mean(board):
    body = {"runs": ["plain", "rich"], "tags": ["loss"], "statistic": "mean-sd", "to": 19}
    ((about, columns),) = read_columns(board.api("groups", body).body).values()
    assert sorted(about["runs"]) == ["plain", "rich"]
    at = columns["x"].tolist().index(0.0)
    assert columns["y"][at] == pytest.approx((1.0 + 0.5) / 2)


def test_a_table_has_hparams_and_metrics(board):
    answer = board.api("table", {"metrics": ["loss"]})
    assert answer.status == 200, answer.body
    made = answer.json
    names = [column["name"] for column in made["columns"]]
    row = next(dict(zip(names, row, strict=True)) for row in made["rows"] if row[0] == "rich")
    assert row["lr"] == pytest.approx(0.1)
    assert (row["loss (last)"], row["loss (min)"], row["loss (max)"]) == (19.5, 0.5, 19.5)


def test_hparams_come_by_run(board):
    runs = board.api("hparams").json["runs"]
    assert runs["rich"]["hparams"]["lr"] == pytest.approx(0.1)
    assert runs["rich"]["metrics"]["loss"] == 19.5


def test_points_are_paged_and_spell_nan(board):
    page = board.api("points?run=rich&tag=odd&offset=3&limit=3").json
    assert (page["total"], page["steps"], page["values"]) == (20, [3, 4, 5], ["nan", "inf", 1.0])


def test_aliases_are_runs_too(board):
    assert board.api("points?run=rich/logs/tensorboard&tag=loss&limit=1").json["run"] == "rich"


def test_histograms_share_thirty_buckets_and_keep_their_counts(board):
    made = board.api("histograms?run=rich&tag=weights&limit=5").json
    assert len(made["steps"]) == 5
    assert (made["steps"][0], made["steps"][-1]) == (0, 19)
    for lefts, rights, counts in zip(made["lefts"], made["rights"], made["counts"], strict=True):
        assert len(lefts) == len(rights) == len(counts) == 30
        assert sum(counts) == pytest.approx(200)


def test_distributions_are_those_of_tensorboard(board, logs):
    made = board.api("distributions?run=rich&tag=weights").json
    assert made["basis_points"] == list(BASIS_POINTS)
    for one, values in zip(pb.read(logs)["rich"].histograms("weights"), made["values"], strict=True):
        buckets = np.stack([one.lefts, one.rights, one.counts], axis=1)
        expected = [value for _, value in compressor.compress_histogram(buckets, BASIS_POINTS)]
        np.testing.assert_allclose(values, expected)


def test_images_and_clips_come_with_their_types(board):
    (item,) = board.api("images?run=rich&tag=samples").json["items"]
    assert (item["width"], item["height"], item["media_type"], item["frames"]) == (6, 4, "image/png", 1)
    image = board.api("image?run=rich&tag=samples&index=0")
    assert image.body.startswith(b"\x89PNG")
    assert image.headers["content-type"] == "image/png"
    assert "sandbox" in image.headers["content-security-policy"]
    (clip,) = board.api("audio?run=rich&tag=speech").json["items"]
    assert clip["media_type"] == "audio/wav"
    assert board.api("clip?run=rich&tag=speech&index=0").body.startswith(b"RIFF")
    assert board.api("image?run=rich&tag=samples&index=1").status == 404


def test_texts_are_sanitised(board):
    (item,) = board.api("texts?run=rich&tag=notes").json["items"]
    assert "<script>" in item["text"]
    assert "<strong>bold</strong>" in item["html"]
    for evil in ("<script", 'href="javascript', "<img"):
        assert evil not in item["html"]


def test_restarts_are_listed(board):
    assert board.api("restarts?run=plain").json == {"restarts": []}


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_exports_are_those_of_the_command(board, logs, form):
    answer = board.api(f"export?format={form}&run=rich&tag=loss")
    assert answer.status == 200
    assert f'filename="pulseboard.{form}"' in answer.headers["content-disposition"]
    expected = pb.read(logs)["rich"].series("loss").values.tolist()
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
        assert [float(row["value"]) for row in rows] == expected
        assert {row["run"] for row in rows} == {"rich"}
    elif form == "json":
        assert answer.json["series"][0]["values"] == expected
    else:
        import pyarrow.parquet as pq

        assert pq.read_table(io.BytesIO(answer.body))["value"].to_pylist() == expected


def test_an_export_of_everything_has_every_point(board, logs):
    rows = board.api("export").body.decode().splitlines()
    assert len(rows) - 1 == sum(run.points for run in pb.read(logs).values())


# ---- what a browser may keep, and how it travels


@pytest.mark.parametrize("path", ["runs", "tags", "points?run=plain&tag=loss", "histograms?run=rich&tag=weights"])
def test_an_unchanged_answer_costs_nothing(board, path):
    first = board.api(path)
    again = board.api(path, headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_an_unchanged_chart_costs_nothing_and_another_is_another(board):
    ask = {"runs": ["plain"], "tags": ["loss"], "buckets": 100}
    tag = board.api("window", ask).headers["etag"]
    assert board.api("window", ask, headers={"if-none-match": tag}).status == 304
    assert board.api("window", {**ask, "buckets": 101}, headers={"if-none-match": tag}).status == 200


def test_json_is_compressed_for_who_takes_it(board):
    plain = board.api("points?run=plain&tag=loss")
    packed = board.api("points?run=plain&tag=loss", headers={"accept-encoding": "gzip, deflate"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2
    assert (
        "content-encoding"
        not in board.api("points?run=plain&tag=loss", headers={"accept-encoding": "gzip;q=0"}).headers
    )


def test_columns_are_compressed_where_the_reader_is_far_away(serve, logs):
    far = serve(logs, env={"SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22"})
    ask = {"runs": ["plain"], "tags": ["loss"], "buckets": 1000}
    assert far.api("window", ask, headers={"accept-encoding": "gzip"}).headers["content-encoding"] == "gzip"


def test_a_head_request_has_no_body(board):
    answer = board.api("status", method="HEAD")
    assert (answer.status, answer.body) == (200, b"")


# ---- the document


def test_the_document_names_every_row_of_the_design(board):
    paths = board.api("openapi.json").json["paths"]
    expected = (
        "status runs tags window groups table points histograms distributions images audio image clip texts hparams "
        "graph modules restarts diagnosis guide meaning marks export stream openapi.json"
    )
    assert {path.lstrip("/") for path in paths} == set(expected.split())
    assert set(paths["/marks"]) == {"get", "put"}
    assert paths["/window"]["post"]["requestBody"]["required"]
