"""The documentation site: links lead somewhere, and every command, flag, name and endpoint is on it."""

import argparse
import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest

import pulseboard as pb
from pulseboard.cli.main import full_parser
from pulseboard.diagnose.guide import guide_slugs

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages that the site is built from, by their path."""
    sys.path.insert(0, str(ROOT / "packaging"))
    try:
        spec = importlib.util.spec_from_file_location("docs_site", ROOT / "packaging" / "docs_site.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "packaging"))
    directory = tmp_path_factory.mktemp("site")
    module.write_pages(directory)
    return directory


def text_of(site, name):
    return (site / name).read_text(encoding="utf-8")


def parsers(parser):
    """A parser and those of its commands, at any depth."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from parsers(inner)


def test_every_command_and_flag_is_in_the_reference(site):
    text = text_of(site, "reference/cli.md")
    for parser in parsers(full_parser()):
        section = text[text.index(f"## {parser.prog}\n") :].split("\n## ")[0]
        for action in parser._actions:
            for flag in action.option_strings if action.help != argparse.SUPPRESS else ():
                assert flag in section, f"{parser.prog} {flag}"


def test_every_public_name_and_method_is_in_the_reference(site):
    text = text_of(site, "reference/python.md")
    for name in pb.__all__:
        assert f"\n## {name}\n" in text, name
    for member in ("Runs.follow", "Run.series", "Series.to_pandas", "SummaryWriter.add_scalar"):
        assert f"\n### {member}\n" in text, member


def test_every_endpoint_is_in_the_reference(site):
    from pulseboard.serve.http.endpoint import load_endpoints

    text = text_of(site, "reference/http.md")
    for path, methods in load_endpoints().items():
        for method, endpoint in methods.items():
            section = text[text.index(f"## {method} api/{path}\n") :].split("\n## ")[0]
            for name in endpoint.query:
                assert f"`{name}`" in section, f"{method} {path} {name}"


def test_every_finding_has_a_page(site):
    assert {path.stem for path in (site / "findings").glob("*.md")} == set(guide_slugs())


def test_every_link_on_the_site_leads_to_a_page_of_it(site):
    for path in site.rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            name = target.partition("#")[0]
            if name and "://" not in target and not target.startswith("mailto:"):
                assert (path.parent / name).exists(), f"{path.relative_to(site)} links to {target}"


def test_every_page_in_the_navigation_exists(site):
    text = (ROOT / "packaging" / "mkdocs.yml").read_text(encoding="utf-8")
    pages = re.findall(r"[\w/-]+\.md", text[text.index("nav:") :])
    assert len(pages) > 30
    assert [page for page in pages if not (site / page).exists()] == []


MOVING = sorted((ROOT / "docs" / "moving").glob("*.md"))


@pytest.mark.parametrize("page", MOVING, ids=lambda path: path.stem)
def test_the_python_of_a_page_about_moving_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert code
    space = {"__name__": "docs"}
    for block in code:
        exec(compile(block, str(page), "exec"), space)
    assert len(pb.read(".")) == 1


@pytest.mark.parametrize("page", [*MOVING, ROOT / "docs" / "getting-started.md"], ids=lambda path: path.stem)
def test_the_commands_on_a_page_are_accepted(page):
    """Lines that start with `pulseboard` in code blocks, without their comments."""
    names = set()
    for parser in parsers(full_parser()):
        names.add(parser.prog.split()[-1])
    for line in re.findall(r"^    (pulseboard .*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        words = shlex.split(line, comments=True)[1:]
        if words[0] in names:
            full_parser().parse_args(words)
        else:  # a log directory
            assert not words[0].startswith("-")
