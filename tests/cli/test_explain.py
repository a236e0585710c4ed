"""The explain command: the list of findings, one page, and what is no finding."""

import json
import re

import pytest

from pulseboard.diagnose.guide import SECTIONS, guide, guide_slugs


def test_without_a_finding_all_are_listed_with_what_they_see(pulseboard):
    ran = pulseboard("explain")
    assert ran.code == 0
    listed = [line.split()[0] for line in ran.out.splitlines()[2:] if re.match(r"[a-z]", line)]
    assert listed == guide_slugs()
    assert " ".join(guide("loss-spike").lead.split()[:5]) in ran.out


def test_a_finding_is_explained_by_its_page(pulseboard):
    ran = pulseboard("explain", "loss-spike")
    assert ran.code == 0
    assert ran.out == guide("loss-spike").text
    assert ran.out.startswith("# Loss spike\n")
    assert re.findall(r"^## (.+)$", ran.out, re.MULTILINE) == list(SECTIONS)
    assert "fires" not in ran.out


def test_the_page_comes_as_json_for_programs(pulseboard):
    told = json.loads(pulseboard("explain", "loss-spike", "--json").out)
    assert told["slug"] == "loss-spike"
    assert told["causes"] == list(guide("loss-spike").causes)
    assert list(told["sections"]) == list(SECTIONS)


def test_the_list_comes_as_json_for_programs(pulseboard):
    told = json.loads(pulseboard("explain", "--json").out)
    assert [one["slug"] for one in told] == guide_slugs()
    assert all(one["title"] and one["summary"] for one in told)


@pytest.mark.parametrize("slug", ["loss-spyke", "../guide", ""])
def test_what_is_no_finding_is_said_to_be_none(pulseboard, slug):
    ran = pulseboard("explain", slug)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"pulseboard: There is no finding {slug!r}.")
    assert "`pulseboard explain` lists them all." in ran.err


def test_a_name_nearly_right_is_answered_with_the_nearest(pulseboard):
    assert "Nearest: loss-spike" in pulseboard("explain", "loss-spyke").err


def test_help_teaches_by_example(pulseboard):
    ran = pulseboard("explain", "--help")
    assert ran.code == 0
    assert "pulseboard explain loss-spike" in ran.out
