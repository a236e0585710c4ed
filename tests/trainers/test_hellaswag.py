"""HellaSwag is read as it is published, and scored as by hand."""

import json
import math

import pytest
import torch
from hellaswag import ending_scores, hellaswag_accuracy, load_hellaswag

# Of the published format, with sentences of our own.
LINES = [
    {
        "ind": 24,
        "activity_label": "Making tea",
        "ctx_a": "A man fills a kettle with water.",
        "ctx_b": "he",
        "ctx": "A man fills a kettle with water. he",
        "split": "val",
        "split_type": "indomain",
        "label": 1,
        "endings": ["paints the kettle blue.", "puts it on the stove.", "throws it at a tree.", "sings to it."],
        "source_id": "ours~1",
    },
    {
        "ctx_a": "Rain falls on the roof.",
        "ctx_b": "water",
        "label": "0",
        "endings": ["runs down.", "up.", "burns.", "eats."],
    },
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "hellaswag_val.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in LINES) + "\n\n")
    return str(path)


def test_a_published_line_becomes_a_question(file):
    first, second = load_hellaswag(file)
    assert first.context == "A man fills a kettle with water. he"
    assert first.endings[1] == "puts it on the stove."
    assert (first.label, second.label) == (1, 0)
    assert second.context == "Rain falls on the roof. Water"  # joined where there is no ctx
    assert len(load_hellaswag(file, limit=1)) == 1


def test_a_line_that_is_no_question_is_named(tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text('{"ctx": "A", "label": 0}\n')
    with pytest.raises(ValueError, match=r"no HellaSwag question \(KeyError: 'endings'\): line 1 of .*broken\.jsonl"):
        load_hellaswag(str(path))
    path.write_text('{"ctx": "A", "label": 4, "endings": ["a", "b", "c", "d"]}\n')
    with pytest.raises(ValueError, match="label 4 names none of 4 endings"):
        load_hellaswag(str(path))
    path.write_text("\n")
    with pytest.raises(ValueError, match="no HellaSwag question in"):
        load_hellaswag(str(path))


# ---- a model of three tokens whose chances depend on the token before only

CHANCES = torch.tensor([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]])


def bigram(tokens):
    return CHANCES.log()[tokens]


def test_an_ending_scores_the_mean_log_likelihood_of_its_own_tokens():
    found = ending_scores(bigram, [0, 1], [[2], [2, 0], [0, 0, 0]], block_size=16)
    by_hand = [math.log(0.8), (math.log(0.8) + math.log(0.6)) / 2, (math.log(0.1) + 2 * math.log(0.2)) / 3]
    assert found == pytest.approx(by_hand, rel=1e-6)


def test_a_context_that_does_not_fit_loses_its_beginning():
    whole = ending_scores(bigram, [0, 1], [[2, 0]], block_size=16)
    assert ending_scores(bigram, [0] * 50 + [0, 1], [[2, 0]], block_size=3) == pytest.approx(whole)
    # An ending longer than the model can see: its last tokens count.
    assert ending_scores(bigram, [1], [[2, 0, 1, 2]], block_size=2) == pytest.approx(
        [(math.log(CHANCES[0, 1]) + math.log(CHANCES[1, 2])) / 2]
    )


def test_a_long_ending_does_not_lose_for_its_length(tmp_path):
    # In all: 0.8 * 0.6 for the right one against 0.1 for the short one. Summed up, a longer chain of likely tokens
    # falls below the short unlikely one: 0.8 * 0.6 * 0.5 * 0.8 * 0.6 * 0.5 * 0.8 = 0.046.
    encode = {"1": [1], " right": [2, 0, 1, 2, 0, 1, 2], " short": [1]}.__getitem__
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"ctx": "1", "endings": ["right", "short"], "label": 0}))
    assert hellaswag_accuracy(bigram, load_hellaswag(str(path)), encode, block_size=16) == 1.0


def test_accuracy_is_the_share_of_right_answers(file):
    items = load_hellaswag(file)
    favours_short = lambda tokens: torch.zeros(*tokens.shape, 3)  # noqa: E731 all endings score alike: the first wins
    encode = lambda text: [len(text) % 3] * 4  # noqa: E731
    assert hellaswag_accuracy(favours_short, items, encode, block_size=16) == 0.5
