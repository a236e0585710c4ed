"""The explain command: the list of findings, one guide, and unknown names."""

import json
import re

import pytest

from pulseboard.diagnose.guide import SECTIONS, guide, guide_slugs


def test_without_a_finding_all_are_listed_with_what_they_detect(pulseboard):
    ran = pulseboard("explain")
    assert ran.code == 0
    listed = [line.split()[0] for line in ran.out.splitlines()[2:] if re.match(r"[a-z]", line)]
    assert listed == guide_slugs()
    assert " ".join(guide("loss-spike").lead.split()[:5]) in ran.out


def test_a_finding_is_explained_by_its_guide(pulseboard):
    ran = pulseboard("explain", "loss-spike")
    assert ran.code == 0
    assert ran.out == guide("loss-spike").text
    assert ran.out.startswith("# Loss spike\n")
    assert re.findall(r"^## (.+)$", ran.out, re.MULTILINE) == list(SECTIONS)
    assert "fires" not in ran.out


def test_the_guide_is_available_as_json(pulseboard):
    page = json.loads(pulseboard("explain", "loss-spike", "--json").out)
    assert page["slug"] == "loss-spike"
    assert page["causes"] == list(guide("loss-spike").causes)
    assert list(page["sections"]) == list(SECTIONS)


def test_the_list_is_available_as_json(pulseboard):
    page = json.loads(pulseboard("explain", "--json").out)
    assert [one["slug"] for one in page] == guide_slugs()
    assert all(one["title"] and one["summary"] for one in page)


@pytest.mark.parametrize("slug", ["loss-spyke", "../guide", ""])
def test_an_unknown_finding_is_reported(pulseboard, slug):
    ran = pulseboard("explain", slug)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"pulseboard: There is no finding {slug!r}.")
    assert "`pulseboard explain` lists them all." in ran.err


def test_a_misspelled_finding_suggests_the_nearest(pulseboard):
    assert "Nearest: loss-spike" in pulseboard("explain", "loss-spyke").err


def test_the_help_has_examples(pulseboard):
    ran = pulseboard("explain", "--help")
    assert ran.code == 0
    assert "pulseboard explain loss-spike" in ran.out
