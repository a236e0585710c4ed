"""The guides: a page a finding, true to its detector, and tapes that show what fires and what does not."""

import re
from pathlib import Path

import numpy as np
import pytest

from pulseboard.core.finding import SEVERITIES
from pulseboard.diagnose.detector import all_detectors, run_detectors
from pulseboard.diagnose.guide import SECTIONS, guide, guide_files, guide_slugs
from pulseboard.diagnose.index import index_text
from pulseboard.diagnose.judge.causes import all_causes
from pulseboard.diagnose.profile import load_profile
from pulseboard.diagnose.roles.resolve import BY_NAME
from pulseboard.diagnose.tape import case_of_guide

ROOT = Path(__file__).parents[2]
SLUGS = guide_slugs()
FRONT = {"id", "level", "causes", "fires", "quiet", "also", "brings", "limits"}
FOR_CASES = {"config", "ranks", "histograms", "restarts", "silence_secs", "profile"}
OPTIONAL = ("References",)


def source(slug):
    return guide_files()[slug].read_text(encoding="utf-8")


def sight(case, slug):
    """What one detector makes of a case."""
    return run_detectors(case, [all_detectors()[slug]])


def test_every_detector_has_a_page_and_every_page_a_detector():
    ours = [slug for slug, one in all_detectors().items() if "pulseboard" in one.file]
    assert ours == SLUGS


def test_what_a_finding_brings_along_are_findings_of_other_kinds():
    for slug in SLUGS:
        brought = [entry.partition("@")[0] for entry in guide(slug).front.get("brings", ())]
        assert set(brought) <= set(SLUGS) - {slug}
        # Never in a circle: two that bring each other would both be info.
        for other in brought:
            assert slug not in [entry.partition("@")[0] for entry in guide(other).front.get("brings", ())]


# ---- the shape of a page


@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_has_its_headings_in_their_order(slug):
    headings = re.findall(r"^## (.+)$", source(slug), re.MULTILINE)
    assert headings == [name for name in SECTIONS if name in headings or name not in OPTIONAL]
    assert all(guide(slug).sections[name] for name in headings)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_begins_with_a_title_and_one_sentence(slug):
    page = guide(slug)
    assert re.match(r"\+\+\+\n.*?\n\+\+\+\n# [A-Z]", source(slug), re.DOTALL)
    assert re.fullmatch(r"[A-Z][^\n]{14,88}\.", page.summary)
    assert "{" not in page.text


@pytest.mark.parametrize("slug", SLUGS)
def test_what_a_page_sees_begins_with_a_line_that_stands_alone(slug):
    assert re.fullmatch(r"[A-Z`].{20,160}[.:]", guide(slug).lead)


@pytest.mark.parametrize("slug", SLUGS)
def test_questions_are_numbered_and_ask_and_steps_are_listed_the_safe_ones_first(slug):
    page = guide(slug)
    questions = page.sections["Look first"].splitlines()
    assert [line.split(". ")[0] for line in questions] == [str(i + 1) for i in range(len(questions))]
    assert all("?" in line for line in questions)
    assert all(line.startswith("- ") for line in page.sections["What to try"].splitlines())
    kinds = [fix.split(":")[0] for fix in page.fixes]
    assert set(kinds) <= {"Safe", "Changes the run"}
    assert kinds[0] == "Safe"
    assert kinds == sorted(kinds, reverse=True)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_is_short(slug):
    assert 15 <= len(guide(slug).text.splitlines()) <= 70


@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_can_be_scanned(slug):
    """No paragraph and no entry of a list is a wall of text."""
    blocks = re.split(r"\n\s*\n|\n(?=- |\d+\. |#)", guide(slug).text)
    assert max((len(block.split()), block) for block in blocks)[0] <= 64


@pytest.mark.parametrize("slug", SLUGS)
def test_front_matter_has_what_it_should_and_nothing_else(slug):
    front = guide(slug).front
    assert front["id"] == slug
    assert front["level"] in SEVERITIES
    assert {"id", "level", "causes", "fires", "quiet"} <= set(front)
    known = FRONT | FOR_CASES | {f"{which}_{name}" for which in ("fires", "quiet") for name in FOR_CASES}
    assert set(front) <= known


@pytest.mark.parametrize("slug", SLUGS)
def test_causes_are_known_ones(slug):
    assert set(guide(slug).causes) <= set(all_causes())
    assert len(set(guide(slug).causes)) == len(guide(slug).causes)


def test_pages_speak_of_findings_that_there_are():
    """Every word in a page that looks like a slug and stands in code marks is a finding, a cause or a role."""
    known = {*SLUGS, *all_causes(), *BY_NAME}
    for slug in SLUGS:
        named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", guide(slug).text))
        assert named <= known, (slug, named - known)


# ---- the limits that a page states

_WORDS = {
    1: "one",
    2: "two|twice",
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    8: "eight",
    10: "ten",
    12: "twelve",
    0.5: "half",
    0.25: "a quarter",
    0.2: "a fifth",
    0.1: "a tenth",
    1e-3: "a thousandth",
    86400: "a day",
}


def spellings(number):
    """The ways in which a page may write a number, as a regular expression."""
    plain = np.format_float_positional(number, trim="-")
    ways = [re.escape(plain), re.escape(f"{100 * number:.10g} %"), re.sub(r"e-0", "e-", f"{number:g}")]
    ways += [_WORDS[number]] if number in _WORDS else []
    return rf"(?<![\w.])(?:{'|'.join(ways)})(?![\w]|\.\d)"


@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_states_the_limits_of_its_detector(slug):
    text = guide(slug).sections["What it sees"] + " " + guide(slug).sections["When it is fine"]
    for name, number in load_profile("general").limits.get(slug, {}).items():
        assert re.search(spellings(number), text, re.IGNORECASE), f"{slug}: {name} is {number:g}"


# ---- the tapes


@pytest.mark.parametrize("slug", SLUGS)
def test_the_firing_tape_is_found_no_more_severe_than_the_page_says(slug):
    page = guide(slug)
    seen = sight(case_of_guide(page.front, "fires"), slug)
    assert not seen.not_checked
    assert [finding.slug for finding in seen.findings], "nothing was found"
    assert all(finding.slug == slug for finding in seen.findings)
    worst = max(SEVERITIES.index(finding.severity) for finding in seen.findings)
    assert worst <= SEVERITIES.index(page.front["level"])


def test_evidence_that_a_chart_can_show_is_in_the_unit_of_its_metric():
    shown = set()
    for slug in SLUGS:
        case = case_of_guide(guide(slug).front, "fires")
        for finding in sight(case, slug).findings:
            for one in finding.evidence:
                if one.on_curve:
                    shown.add(slug)
                    track = case.tracks[one.metric]
                    assert track.low <= one.value <= track.high, (slug, one)
    # A share of the level, or a count of points, is not.
    assert {"loss-at-ignorance", "moe-zloss-high", "gpu-underused"} <= shown
    assert not {"loss-spike", "throughput-drop", "data-stall", "best-checkpoint-missed"} & shown


@pytest.mark.parametrize("slug", SLUGS)
def test_nothing_else_is_found_in_the_firing_tape_but_what_the_page_names(slug):
    front = guide(slug).front
    found = {finding.slug for finding in run_detectors(case_of_guide(front, "fires")).findings}
    assert found <= {slug, *front.get("also", ())}


@pytest.mark.parametrize("slug", SLUGS)
def test_the_quiet_tape_is_looked_at_and_left_alone(slug):
    seen = sight(case_of_guide(guide(slug).front, "quiet"), slug)
    assert (seen.findings, seen.not_checked) == ([], [])
    assert seen.absent == {slug}


@pytest.mark.parametrize("slug", SLUGS)
def test_no_other_finding_above_info_is_in_the_quiet_tape(slug):
    found = run_detectors(case_of_guide(guide(slug).front, "quiet")).findings
    assert [finding.slug for finding in found if finding.severity != "info"] == []


# ---- words


def shingles(text, size=8):
    """Every row of so many words."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}


def test_no_sentence_is_taken_from_the_written_guides():
    directory = ROOT.parent / "shared" / "reference"
    if not directory.is_dir():
        pytest.skip(f"the written guides are not here: {directory}")
    theirs = set().union(*(shingles(path.read_text(encoding="utf-8")) for path in directory.glob("*.txt")))
    assert len(theirs) > 1000
    for slug in SLUGS:
        assert shingles(guide(slug).text) & theirs == set(), slug


def test_no_two_pages_say_the_same_sentence_about_what_they_see():
    leads = [guide(slug).lead for slug in SLUGS]
    assert len(set(leads)) == len(leads)


# ---- the index


def test_the_index_of_findings_is_up_to_date():
    written = (ROOT / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
    assert written == index_text(), (
        "generate it again: python -m pulseboard.diagnose.index > docs/reference/findings.md"
    )
