"""Adding a thing is one file in one place: each example of ARCHITECTURE.md, followed literally.

The package is copied, the example's file is written into the copy, and a fresh process uses it. Nothing else is edited.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def examples():
    """Kind -> {path: text} of the files that each section under "Adding a thing" adds."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    chapter = text.partition("\n## Adding a thing\n")[2].partition("\n## ")[0]
    found = {}
    for section in chapter.split("\n### ")[1:]:
        paths = re.findall(r"[Aa]dd `([^`]+)`", section)
        blocks = re.findall(r"^```\w+\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        found[section.partition("\n")[0]] = dict(zip(paths, blocks, strict=True))
    return found


def add_files(copy, *, below):
    """Write the files of all examples below a folder into a copy of the repository."""
    for path, text in (item for files in examples().values() for item in files.items()):
        if path.startswith(below):
            assert not (ROOT / path).exists(), f"{path} exists already: the example would replace it"
            (copy / path).parent.mkdir(exist_ok=True)
            (copy / path).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of src/ with the files of all Python and TOML examples."""
    copy = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__", "assets")
    shutil.copytree(ROOT / "src" / "pulseboard", copy / "src" / "pulseboard", ignore=ignored)
    add_files(copy, below="src/")
    return copy / "src"


@pytest.fixture
def in_the_copy(source, tmp_path):
    """Runs Python code in a fresh process with the copied package, and returns what it prints as JSON."""

    def run(code):
        environment = {
            **os.environ,
            "PYTHONPATH": str(source),
            "PULSEBOARD_DATA_DIR": str(tmp_path / "data"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }
        command = [sys.executable, "-c", f"import json\nimport pulseboard as pb\n{code}"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_every_kind_has_an_example():
    kinds = {"Reader", "Sink", "Telemetry source", "Instrument", "Route", "Export format", "Page tab", "Profile"}
    assert set(examples()) == kinds


def test_a_reader_opens_a_file_of_its_format(in_the_copy, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "short.loss").write_text("0 2.5\n1 1.5\n")
    assert in_the_copy(
        "from pulseboard.cli import main\n"
        "main(['export', 'runs', '-o', 'all.csv'])\n"
        "print(json.dumps(open('all.csv').read().splitlines()[1:]))"
    ) == ["short.loss,train/loss,0,nan,2.5", "short.loss,train/loss,1,nan,1.5"]


def test_a_sink_receives_what_is_logged(in_the_copy):
    assert (
        in_the_copy(
            "sinks = ['tensorboard', 'tally']\n"
            "with pb.init(run_id='r', report_to=sinks, tally_file='n.txt', telemetry_secs=0, strict=True) as run:\n"
            "    run.log({'a': 1.0, 'b': 2.0}, step=0)\n"
            "    run.log({'a': 0.5}, step=1)\n"
            "print(json.dumps(open('runs/r/n.txt').read()))"
        )
        == "3 finished\n"
    )


def test_a_telemetry_source_is_sampled(in_the_copy):
    assert in_the_copy(
        "import time\n"
        "with pb.init(run_id='r', telemetry_secs=0.1, strict=True) as run:\n"
        "    late = time.monotonic() + 120\n"
        "    while 'host/load' not in pb.read('runs')['r'].tags('scalar') and time.monotonic() < late:\n"
        "        run.log({'a': 1.0})\n"
        "        time.sleep(0.1)\n"
        "print(json.dumps('host/load' in pb.read('runs')['r'].tags('scalar')))"
    )


def test_an_instrument_is_listed_and_measures(in_the_copy):
    assert in_the_copy(
        "from pulseboard.instruments.registry import all_instruments\n"
        "found = all_instruments()['logit_scale']\n"
        "print(json.dumps([sorted(found.metrics), found.measure([[1.0, -7.0]])]))"
    ) == [["train/logit_scale"], {"train/logit_scale": 7.0}]


def test_a_route_answers_and_is_documented(in_the_copy):
    assert in_the_copy(
        "import urllib.request\n"
        "with pb.init(run_id='r', telemetry_secs=0) as run:\n"
        "    run.log({'a': 1.0}, step=0)\n"
        "get = urllib.request.build_opener(urllib.request.ProxyHandler({})).open\n"
        "with pb.serve('runs', port=0) as server:\n"
        "    while json.load(get(f'{server.url}api/status'))['loading']:\n"
        "        pass\n"
        "    answer = json.load(get(f'{server.url}api/count'))\n"
        "    document = json.load(get(f'{server.url}api/openapi.json'))\n"
        "print(json.dumps([answer, [path for path in document['paths'] if path.endswith('count')]]))"
    ) == [{"runs": 1}, ["/count"]]


def test_an_export_format_is_offered_by_the_command(in_the_copy):
    assert (
        in_the_copy(
            "from pulseboard.cli import main\n"
            "with pb.init(run_id='r', telemetry_secs=0) as run:\n"
            "    run.log({'a': 1.0}, step=0)\n"
            "    run.log({'a': 0.5}, step=1)\n"
            "main(['export', 'runs', '-f', 'last', '-o', 'out.txt'])\n"
            "print(json.dumps(open('out.txt').read()))"
        )
        == "r\ta\t0.5\n"
    )


def test_a_profile_is_found_by_name_and_by_path(in_the_copy, tmp_path):
    (profile,) = examples()["Profile"].values()
    (tmp_path / "mine.toml").write_text(profile.replace("tiny", "mine"), encoding="utf-8")
    assert in_the_copy(
        "from pulseboard.diagnose.profile import load_profile\n"
        "print(json.dumps([load_profile(name).title for name in ('tiny', 'mine.toml')]))"
    ) == ["Tiny models", "Tiny models"]


LISTED = """
import { expect, test } from "vitest";
import { TABS } from "./registry";

test("the added tab is listed and loads", async () => {
  const tab = TABS.find((tab) => tab.id === "notes");
  expect(tab?.label).toBe("Notes");
  expect((await tab!.load()).default).toBeTypeOf("function");
});
"""


def test_a_tab_is_listed_and_loads(tmp_path, monkeypatch):
    if not (ROOT / "web" / "node_modules").exists():
        pytest.skip("the page's packages are missing: run npm ci in web/, or make clean page")
    web = tmp_path / "web"
    shutil.copytree(ROOT / "web", web, ignore=shutil.ignore_patterns("node_modules"))
    (web / "node_modules").symlink_to(ROOT / "web" / "node_modules")
    add_files(tmp_path, below="web/")
    (web / "src" / "tabs" / "added.test.ts").write_text(LISTED, encoding="utf-8")
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    monkeypatch.delitem(sys.modules, "page", raising=False)
    import page

    monkeypatch.setattr(page, "WEB", web)
    command = ["exec", "--", "vitest", "run", "src/tabs/added.test.ts", "src/tabs/registry.test.ts"]
    done = page.run_npm(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-4000:]
