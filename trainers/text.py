"""Text to train on: a corpus that comes with Python or any file, its tokens, and the windows of a training step."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch

# One chunk of ten is for validation. Chunks, not the last tenth: both splits shall be of the same kind.
_CHUNKS_A_SPLIT = 10
_CHUNK_LENGTH = 1024


def corpus(file: str | None = None) -> str:
    """The text of `file`; without one, Python's own reference manual as `help()` has it, about 0.4 million letters."""
    if file is not None:
        if not Path(file).is_file():
            raise SystemExit(f"There is no text to train on at {file}")
        return Path(file).read_text(encoding="utf-8", errors="replace")
    from pydoc_data.topics import topics

    # Topics quote each other at length; a paragraph that stands in both splits would tell on itself.
    seen = dict.fromkeys(part for name in sorted(topics) for part in topics[name].split("\n\n"))
    return "\n\n".join(seen)


class CharTokenizer:
    """One token a character of the corpus; 0 stands for every character that the corpus has not."""

    def __init__(self, text: str) -> None:
        self.characters = ["\N{REPLACEMENT CHARACTER}", *sorted(set(text))]
        self._number = {character: i for i, character in enumerate(self.characters)}
        self.size = len(self.characters)

    def encode(self, text: str) -> list[int]:
        """Characters to numbers."""
        return [self._number.get(character, 0) for character in text]

    def decode(self, tokens: list[int]) -> str:
        """Numbers to characters."""
        return "".join(self.characters[token] for token in tokens)


class ByteTokenizer:
    """One token a byte of UTF-8: any text, always 256 tokens."""

    size = 256

    def __init__(self, text: str = "") -> None:
        del text  # nothing to learn from it

    def encode(self, text: str) -> list[int]:
        """Text to bytes."""
        return list(text.encode("utf-8"))

    def decode(self, tokens: list[int]) -> str:
        """Bytes to text; what is no UTF-8 shows as a replacement character."""
        return bytes(tokens).decode("utf-8", errors="replace")


TOKENIZERS = {"char": CharTokenizer, "byte": ByteTokenizer}


@dataclass
class Text:
    """Tokens of the two splits, and what is known of them before any training."""

    train: torch.Tensor
    val: torch.Tensor
    tokenizer: CharTokenizer | ByteTokenizer
    unigram_entropy: float  # nats a token: the loss of a model that knows only how frequent each token is


def load_text(file: str | None, *, tokenizer: str = "char") -> Text:
    """The corpus as tokens, split chunk by chunk."""
    text = corpus(file)
    chosen = TOKENIZERS[tokenizer](text)
    tokens = torch.tensor(chosen.encode(text), dtype=torch.long)
    length = max(1, min(_CHUNK_LENGTH, len(tokens) // (2 * _CHUNKS_A_SPLIT)))
    chunks = tokens.split(length)
    train = torch.cat([c for i, c in enumerate(chunks) if i % _CHUNKS_A_SPLIT != _CHUNKS_A_SPLIT - 1])
    val = torch.cat([c for i, c in enumerate(chunks) if i % _CHUNKS_A_SPLIT == _CHUNKS_A_SPLIT - 1])
    return Text(train, val, chosen, _entropy(train, size=chosen.size))


def _entropy(tokens: torch.Tensor, *, size: int) -> float:
    shares = torch.bincount(tokens, minlength=size).double() / len(tokens)
    return -sum(share * math.log(share) for share in shares.tolist() if share)


@dataclass
class Windows:
    """Windows of `block_size` tokens with the tokens that follow them, in an order that a step's number fixes.

    An epoch takes every window once, shuffled, from an offset of its own. Nothing is remembered between calls, so a
    resumed run gets the batches that the uninterrupted one would have had.
    """

    tokens: torch.Tensor
    block_size: int
    batch_size: int  # rows of one rank
    seed: int = 0
    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        if len(self.tokens) < 2 * self.block_size + 1:
            raise SystemExit(
                f"The text has {len(self.tokens)} tokens in this split, too few for windows of {self.block_size}. "
                "Give a longer --text or a smaller --block_size."
            )
        self._order: tuple[int, torch.Tensor] | None = None

    @property
    def windows_an_epoch(self) -> int:
        """How many windows there are."""
        return (len(self.tokens) - self.block_size - 1) // self.block_size

    def epoch(self, step: int) -> float:
        """How often the text has been seen when this step begins."""
        return step * self.batch_size * self.world_size / self.windows_an_epoch

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets of a step: (batch_size, block_size) each."""
        first = (step * self.world_size + self.rank) * self.batch_size
        starts = torch.tensor([self._start(first + i) for i in range(self.batch_size)])
        rows = self.tokens[starts[:, None] + torch.arange(self.block_size + 1)]
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()

    def _start(self, number: int) -> int:
        """Where the `number`-th window since the beginning of the training starts."""
        epoch, place = divmod(number, self.windows_an_epoch)
        if self._order is None or self._order[0] != epoch:
            random = torch.Generator().manual_seed(self.seed * 100_003 + epoch)
            offset = torch.randint(self.block_size, (), generator=random)
            order = torch.randperm(self.windows_an_epoch, generator=random) * self.block_size + offset
            self._order = (epoch, order)
        return int(self._order[1][place])
