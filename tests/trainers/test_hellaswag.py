"""HellaSwag is read in its published format, and scores match a computation by hand."""

import json
import math

import pytest
import torch
from hellaswag import ending_scores, hellaswag_accuracy, load_hellaswag

# The published format, with our own sentences.
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
    assert second.context == "Rain falls on the roof. Water"  # joined without ctx
    assert len(load_hellaswag(file, limit=1)) == 1


def test_an_invalid_line_is_named(tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text('{"ctx": "A", "label": 0}\n')
    with pytest.raises(ValueError, match=r"Not a HellaSwag question \(KeyError: 'endings'\): line 1 of .*broken"):
        load_hellaswag(str(path))
    path.write_text('{"ctx": "A", "label": 4, "endings": ["a", "b", "c", "d"]}\n')
    with pytest.raises(ValueError, match="Label 4 is out of range for 4 endings"):
        load_hellaswag(str(path))
    path.write_text("\n")
    with pytest.raises(ValueError, match="No HellaSwag questions in"):
        load_hellaswag(str(path))


# ---- a bigram model of three tokens

PROBABILITIES = torch.tensor([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]])


def bigram(tokens):
    return PROBABILITIES.log()[tokens]


def test_an_ending_scores_the_mean_log_likelihood_of_its_own_tokens():
    found = ending_scores(bigram, [0, 1], [[2], [2, 0], [0, 0, 0]], block_size=16)
    by_hand = [math.log(0.8), (math.log(0.8) + math.log(0.6)) / 2, (math.log(0.1) + 2 * math.log(0.2)) / 3]
    assert found == pytest.approx(by_hand, rel=1e-6)


def test_a_context_that_does_not_fit_loses_its_start():
    whole = ending_scores(bigram, [0, 1], [[2, 0]], block_size=16)
    assert ending_scores(bigram, [0] * 50 + [0, 1], [[2, 0]], block_size=3) == pytest.approx(whole)
    # An ending longer than the context length: its last tokens count.
    assert ending_scores(bigram, [1], [[2, 0, 1, 2]], block_size=2) == pytest.approx(
        [(math.log(PROBABILITIES[0, 1]) + math.log(PROBABILITIES[1, 2])) / 2]
    )


def test_a_long_ending_is_not_penalized(tmp_path):
    # The total likelihood of a long chain of likely tokens, 0.8 * 0.6 * 0.5 * 0.8 * 0.6 * 0.5 * 0.8 = 0.046, is below
    # the 0.1 of the short unlikely ending; its mean is above.
    encode = {"1": [1], " right": [2, 0, 1, 2, 0, 1, 2], " short": [1]}.__getitem__
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"ctx": "1", "endings": ["right", "short"], "label": 0}))
    assert hellaswag_accuracy(bigram, load_hellaswag(str(path)), encode, block_size=16) == 1.0


def test_accuracy_is_the_share_of_correct_answers(file):
    items = load_hellaswag(file)
    indifferent = lambda tokens: torch.zeros(*tokens.shape, 3)  # noqa: E731 all endings score the same: the first wins
    encode = lambda text: [len(text) % 3] * 4  # noqa: E731
    assert hellaswag_accuracy(indifferent, items, encode, block_size=16) == 0.5
