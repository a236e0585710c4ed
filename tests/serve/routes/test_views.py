"""Saved views, text that users write, heatmaps, and the names of users."""

import pytest
from log_directories import write_run
from servers import read_columns

from pulseboard import SummaryWriter
from pulseboard.serve.security.access import read_token_file

ANNA, BEN = "anna-has-a-long-token", "ben-has-a-longer-token"


def put(server, views, **options):
    return server.api("views", {"views": views}, method="PUT", **options)


def test_views_are_kept_by_name_for_these_log_directories(serve, tmp_path):
    for logs in ("here", "there"):
        write_run(tmp_path / logs / "a")
    server = serve(tmp_path / "here")
    saved = put(server, {"two": "scalars&x=wall", "one": "health"}).json["views"]
    assert [(view["name"], view["hash"], view["by"]) for view in saved] == [
        ("one", "health", None),
        ("two", "scalars&x=wall", None),
    ]
    assert "attachment" in server.api("views?download=1").headers["content-disposition"]
    put(server, {"one": None, "two": "scalars"})
    server.stop()
    again = serve(tmp_path / "here")
    assert [(view["name"], view["hash"]) for view in again.api("views").json["views"]] == [("two", "scalars")]
    assert serve(tmp_path / "there").api("views").json == {"views": []}


def test_names_of_tokens_sign_views_and_notes_and_nobody_can_forge_them(serve, tmp_path):
    write_run(tmp_path / "logs" / "a")
    file = tmp_path / "tokens"
    file.write_text(f"full {ANNA} Anna Li   # a comment\nfull {BEN} Ben\nread sha256:{'0' * 64}\n")
    assert [token.name for token in read_token_file(str(file))] == ["Anna Li", "Ben", None]
    server = serve(tmp_path / "logs", "--token_file", file, loaded=False)
    assert server.api("status", token=ANNA).json["user"] == "Anna Li"
    assert put(server, {"v": "health"}, token=BEN).json["views"][0]["by"] == "Ben"

    def mark(marks, token):
        return server.api("marks", {"marks": {"a": marks}}, method="PUT", token=token).json["marks"].get("a")

    assert mark({"note": "odd", "note_by": "Ben"}, ANNA) == {"note": "odd", "note_by": "Anna Li"}
    # Another mark does not change who wrote the note; another note does.
    assert mark({"note": "odd", "pinned": True}, BEN)["note_by"] == "Anna Li"
    assert mark({"note": "odd, again"}, BEN)["note_by"] == "Ben"
    assert mark({"note": None, "note_by": "Ben"}, BEN) is None


def test_without_names_notes_are_not_signed(serve, tmp_path):
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs")
    assert server.api("status").json["user"] is None
    marks = server.api("marks", {"marks": {"a": {"note": "x", "note_by": "me"}}}, method="PUT").json["marks"]
    assert marks == {"a": {"note": "x"}}


def test_markdown_is_rendered_without_scripts(server):
    html = server.api("markdown", {"text": "# A\n\n<script>alert(1)</script> **b** [c](javascript:d)"}).json["html"]
    assert "<h1>A</h1>" in html
    assert "<strong>b</strong>" in html
    assert "<script" not in html
    assert "javascript:" not in html.replace("[c](javascript:d)", "")


@pytest.mark.parametrize("query", ["family=a", "family=a_{i}&from=3&to=1", "family=a_{i}&columns=0"])
def test_a_wrong_heatmap_is_refused(server, query):
    assert server.api(f"heatmap?run=plain&{query}").status == 400


def test_a_heatmap_is_sent_as_columns(serve, tmp_path):
    with SummaryWriter(tmp_path / "logs/a") as writer:
        for step in range(4):
            for layer in range(3):
                writer.add_scalar(f"norm/{layer}", layer * 10 + step, step)
    response = serve(tmp_path / "logs").api("heatmap?run=a&family=norm/{i}")
    header, columns = read_columns(response.body)["a", "norm/{i}"]
    assert header["members"] == ["0", "1", "2"]
    assert columns["values"].reshape(3, 4).tolist() == [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]
