"""Text to train on: a corpus that comes with Python, or any file; its tokens; and the windows of each step."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch

# One chunk in ten is for validation. Chunks, not the last tenth, so that both splits are alike.
_CHUNKS_PER_SPLIT = 10
_CHUNK_LENGTH = 1024


def corpus(file: str | None = None) -> str:
    """The text of `file`, or Python's own reference manual from `help()`, about 0.4 million characters."""
    if file is not None:
        if not Path(file).is_file():
            raise SystemExit(f"No text to train on at {file}")
        return Path(file).read_text(encoding="utf-8", errors="replace")
    from pydoc_data.topics import topics

    # Topics quote each other; a paragraph in both splits would leak from training to validation.
    seen = dict.fromkeys(part for name in sorted(topics) for part in topics[name].split("\n\n"))
    return "\n\n".join(seen)


class CharTokenizer:
    """One token per character; 0 stands for characters that are not in the corpus."""

    def __init__(self, text: str) -> None:
        self.characters = ["\N{REPLACEMENT CHARACTER}", *sorted(set(text))]
        self._token = {character: i for i, character in enumerate(self.characters)}
        self.size = len(self.characters)

    def encode(self, text: str) -> list[int]:
        """Characters to tokens."""
        return [self._token.get(character, 0) for character in text]

    def decode(self, tokens: list[int]) -> str:
        """Tokens to characters."""
        return "".join(self.characters[token] for token in tokens)


class ByteTokenizer:
    """One token per byte of UTF-8, so the vocabulary is always 256 tokens."""

    size = 256

    def __init__(self, text: str = "") -> None:
        del text  # not needed

    def encode(self, text: str) -> list[int]:
        """Text to bytes."""
        return list(text.encode("utf-8"))

    def decode(self, tokens: list[int]) -> str:
        """Bytes to text; invalid UTF-8 becomes replacement characters."""
        return bytes(tokens).decode("utf-8", errors="replace")


TOKENIZERS = {"char": CharTokenizer, "byte": ByteTokenizer}


@dataclass
class Text:
    """The tokens of both splits, and their statistics."""

    train: torch.Tensor
    val: torch.Tensor
    tokenizer: CharTokenizer | ByteTokenizer
    unigram_entropy: float  # nats per token: the loss of a model that knows only token frequencies


def load_text(file: str | None, *, tokenizer: str = "char") -> Text:
    """The corpus as tokens, split chunk by chunk."""
    text = corpus(file)
    encoder = TOKENIZERS[tokenizer](text)
    tokens = torch.tensor(encoder.encode(text), dtype=torch.long)
    length = max(1, min(_CHUNK_LENGTH, len(tokens) // (2 * _CHUNKS_PER_SPLIT)))
    chunks = tokens.split(length)
    train = torch.cat([c for i, c in enumerate(chunks) if i % _CHUNKS_PER_SPLIT != _CHUNKS_PER_SPLIT - 1])
    val = torch.cat([c for i, c in enumerate(chunks) if i % _CHUNKS_PER_SPLIT == _CHUNKS_PER_SPLIT - 1])
    return Text(train, val, encoder, _entropy(train, size=encoder.size))


def _entropy(tokens: torch.Tensor, *, size: int) -> float:
    shares = torch.bincount(tokens, minlength=size).double() / len(tokens)
    return -sum(share * math.log(share) for share in shares.tolist() if share)


@dataclass
class Windows:
    """Windows of `block_size` tokens with their next tokens, in an order that the step number determines.

    An epoch uses every window once, shuffled, from a random offset. There is no state between calls, so a resumed run
    gets the same batches as an uninterrupted one.
    """

    tokens: torch.Tensor
    block_size: int
    batch_size: int  # sequences per rank
    seed: int = 0
    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        if len(self.tokens) < 2 * self.block_size + 1:
            raise SystemExit(
                f"This split has {len(self.tokens)} tokens, too few for windows of {self.block_size}. "
                "Use a longer --text or a smaller --block_size."
            )
        self._order: tuple[int, torch.Tensor] | None = None

    @property
    def windows_per_epoch(self) -> int:
        """The number of windows."""
        return (len(self.tokens) - self.block_size - 1) // self.block_size

    def epoch(self, step: int) -> float:
        """How many times the text has been seen when this step starts."""
        return step * self.batch_size * self.world_size / self.windows_per_epoch

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets of a step: (batch_size, block_size) each."""
        first = (step * self.world_size + self.rank) * self.batch_size
        starts = torch.tensor([self._start(first + i) for i in range(self.batch_size)])
        rows = self.tokens[starts[:, None] + torch.arange(self.block_size + 1)]
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()

    def _start(self, number: int) -> int:
        """The first token of the `number`-th window since the start of the training."""
        epoch, index = divmod(number, self.windows_per_epoch)
        if self._order is None or self._order[0] != epoch:
            random = torch.Generator().manual_seed(self.seed * 100_003 + epoch)
            offset = torch.randint(self.block_size, (), generator=random)
            order = torch.randperm(self.windows_per_epoch, generator=random) * self.block_size + offset
            self._order = (epoch, order)
        return int(self._order[1][index])
