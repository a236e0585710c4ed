"""Names for the numbers of a line: `step 10: loss 2.5, lr=1e-3`, `Epoch: [3][40/1251] Loss 6.9 (7.0)`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulseboard.read.axis.names import TOTAL, is_counter
from pulseboard.read.parsing.line_table import LinePlan, Token
from pulseboard.read.parsing.numbers import loss_unit, unit_name
from pulseboard.read.parsing.prose import is_prose

PROGRESS = "(progress)"
"""The column for the count of a progress bar whose numbers are averages so far: only the last of a bar counts."""
BAR = "(bar)"
"""The column that repeats the iteration of a progress bar, which is printed several times for one iteration."""

BARE = "(bare bar)"
"""The column for the count of a progress bar without metrics."""

# Lines with metrics are short. Longer ones are samples or source code, and are not searched.
MAX_LINE_CHARS = 8192
_MAX_NAME_CHARS = 120

_COLORS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# What a logger puts before the message: `2024-05-01 10:00:00 name INFO: `.
_LOGGER = re.compile(r"^.*\b(?:INFO|DEBUG|WARNING)\b[\s:\]|>\-]*")
_UNIT = re.compile(
    r"^[A-Za-z%/]+(?=[^\w:=]|$)|"
    r"^ (?:secs?|seconds|s|ms|us|mins?|minutes|h|hours|days|it|its|images|imgs?|samples|tokens|steps|[kKMGT]i?B)"
    r"(?:/(?:s|sec|it|iter|step|batch))?(?=[,;]? +[A-Za-z])"
)
# 1.5 hours = 90, 160 miles at 40
_RESULT_IN_UNITS = re.compile(
    r"^\s?(?:hours?|minutes?|seconds?|days?|years?|k?m|miles?|meters?|k?g|dollars?)\s*(?:=|\bat|\bin|\bto)\s*$"
)
# A name right before a number, with what joins them: `loss: `, `loss=`, `Loss `, `"loss": `, `mean loss is `.
_NAMED = re.compile(
    r"""(?P<name>[^\W\d](?:[\w./@%()\-]|'s(?=[ ])|\[\w+\])*
        (?:[ ]\(?[A-Za-z][\w/@.\-]*(?:'s(?=[ ]))?\)?){0,4})
        ["'`]?\s*(?P<join>:\s*=?|=\s*|\s->\s*|\s>\s*|\#\s*|：\s*|\s+|(?=\[\s*$))\s*[\[(<{"'$]*\s*$""",
    re.VERBOSE,
)
# | loss | 0.5 |
_CELL_BARS = 3
_TABLE_CELL = re.compile(r"^\s*\|\s*(?P<name>[A-Za-z][\w /.@%\-]*?)\s*\|\s*$")
# What people put between the name and the number besides a sign: `loss is 3`, `lr of 0.1`.
_FILLERS = re.compile(r"\s+(?:is|was|of|at|to|no\.?|number|num|nr)$", re.IGNORECASE)
_SCORE = re.compile(r"(?:acc(?:uracy)?|f1|iou|dice|auc|err(?:or)?|mae|mse|ppl|psnr|precision|recall)$", re.IGNORECASE)
_ACCURACY = re.compile(r"(?:acc|accuracy|correct)$", re.IGNORECASE)
# Val. Loss: 0.43, where the period does not end a sentence
_ABBREVIATION = re.compile(r"\b(val|valid|eval|trn?|tst?|avg|acc|max|min|std|num|gen|disc|reg)\. (?=\w)", re.IGNORECASE)
_LEVELS = frozenset("info debug warning warn error critical root main and with".split())
# Without a sign between name and number only these are names of metrics.
_METRIC_WORD = re.compile(
    r"(?:^|[ _/.(\-])(?:loss(?:es)?|acc(?:uracy)?\d?|acc@\d+|prec(?:ision)?(?:@\d+)?|recall|f1|auc|map|iou|miou|dice|"
    r"psnr|ssim|fid|bleu|rouge|wer|cer|error|err|norm|time|dt|lr|rate|mfu|ppl|perplexity|reward|return|score|aux|imbal|"
    r"sol|bpb|kl|elbo|mse|mae|rmse|entropy|epsilon|eps|temperature|momentum|speed|data|memory|mem)\d?$",
    re.IGNORECASE,
)
_QUALIFIERS = frozenset(
    "train training val valid validation test eval dev avg average mean total best top running smooth final d g".split()
)
_COUNT_WORDS = (
    r"global[ _]step|num[ _]updates|timesteps?|steps?|iterations?|iters?|its?|updates?|epochs?|"
    r"(?:mini[-_]?)?batch(?:es|[ _]idx|[ _]index|[ _]id)?|episodes?|frames?|rounds?|trees?|ep|generations?|gen"
)
_COUNTER = re.compile(
    rf"(?:(?:train|training|test|val|valid|validate|validation|eval|current|curr?|start|starting|begin|end|of|finished|at|the|on|"
    rf"in|processing|this|now|info|===?>|after|done|main)[ _:]*)*(?P<count>{_COUNT_WORDS})",
    re.IGNORECASE,
)
# OpenMMLab: Epoch(train) [2][6/8], and Epoch(val) [2][8/8], where the second pair counts the validation data.
_COUNT_OF_SPLIT = re.compile(r"(?P<count>epoch|iter)\((?P<split>train|val|test)\)", re.IGNORECASE)
# Other counts, or mentions of one: `Number of iterations: `, `Writing summary at step: `.
_OTHER_COUNT = re.compile(rf".+[ _](?:{_COUNT_WORDS})", re.IGNORECASE)
_TOTAL_STEPS = re.compile(r"total[ _](?:time|env[ _])?steps", re.IGNORECASE)
_SOURCE = re.compile(r"\.(?:py|c|cc|cpp|cu|h|go|rs)$|^https?$", re.IGNORECASE)
_SPLIT_WORD = re.compile(r"val|valid|validation|test|eval|evaluation|dev|train|training", re.IGNORECASE)
_LEADING_SPLIT = re.compile(rf"(?P<split>{_SPLIT_WORD.pattern})(?![a-z])", re.IGNORECASE)
_PROGRESS_WORD = re.compile(rf"(?:{_SPLIT_WORD.pattern}|(?:\w+_)?chunk)", re.IGNORECASE)
_COUNT_AFTER = re.compile(
    r"^(?:st|nd|rd|th)?[ -]?(?P<count>epoch|batch|mini-batch|iteration|iter|step)s?(?![\w/])", re.I
)
_BAR = re.compile(r"^\s*\d+/\d+\s*(?:[\[━]|- )")
_PART = re.compile(r"(?P<part>val|valid|validation|test|eval|dev|train|training)(?=[_/.\-])", re.IGNORECASE)
# current best: recall: 0.5, train_loss: 0.1
_BEST_SO_FAR = re.compile(r"\bbest\s*:\s*[A-Za-z]\w*\s*[:=]", re.IGNORECASE)
_PAIR = re.compile(r"^\s*\[\s*\d+\s*/\s*\d+\s*\]")  # [12/30], not the date [11/20 18:00:00]
_PAIRS = re.compile(r"\[\s*\d+\s*/\s*\d+\s*\][\s,|\-]*\[\s*\d+\s*/\s*\d+\s*\]")  # [38/200], [1/604], anywhere
# Where a message comes from, before its level: olmo.train:990 INFO
_LEVEL_AFTER = re.compile(r"^\s+[\[\-]?\s*(?:info|debug|warning|warn|error)\b", re.IGNORECASE)
_COUNT_OF = re.compile(r"^\s*\d+\s*/\s*\d+\s+[A-Za-z][\w ]*[:=]")
# A word for the data that the numbers after it were measured on: `[valid] loss=`, `Test set: Average loss: `.
_SPLIT = re.compile(
    r"(?:^|[\[(|>*=#,;:\-\s])(?P<split>val|valid|validate|validation|test|eval|evaluation|dev|train|training)"
    r"(?=\s*[\]):|>]|\s+(?:set|results?|on|epoch|step|metrics)\b|\s-\s|\s\w+\])(?!\s*:\s*$)",
    re.IGNORECASE,
)
# PyTorch's quickstart: `Test Error: `, and on the next line ` Accuracy: 64.4%, Avg loss: 1.07`
_HEADING = re.compile(
    r"\W*(?P<split>val|valid|validation|test|eval|evaluation|dev)(?:\s+\w+){0,2}\s*:\s*", re.IGNORECASE
)
# Averages of an epoch, apart from those of its parts: fairseq's `| train | epoch 1 |`, ESPnet's `1epoch results:`.
_IS_SUMMARY = re.compile(r"\| INFO \| train \||\depoch results:")
_HAS_SPLIT = re.compile(
    r"(?:^|[_/. \-])(?:val|valid|validation|test|eval|evaluation|dev|train|training)", re.IGNORECASE
)
# Words about a metric: `Model is improving ppl: inf --> 5.4`, `val_acc improved from None to 0.6`.
_CHANGE = re.compile(r"(?:^|[ _])(?:improve[ds]|improving|decreased|increased)(?:[ _]|$)", re.IGNORECASE)
_AMOUNT = re.compile(
    r"(?:number|num|amount|count)[ _]of[ _](?:\w+[ _])*"
    r"(?:examples|samples|images|batches|param(?:eter)?s|classes|workers|tokens|files|sentences|documents|gpus|devices)",
    re.IGNORECASE,
)
# Discriminator: real loss: 0.7 fake loss: 0.6
_SUBJECT = re.compile(
    r"(?:^|\s)(?P<subject>generator|discriminator|critic|actor|encoder|decoder|teacher|student):\s+$", re.IGNORECASE
)
_HAS_SUBJECT = re.compile(
    r"(?:^|[_/ ])(?:gan|gen|disc?|generator|discriminator|critic|actor|encoder|decoder|teacher|student)(?![a-z])", re.I
)
_UNITS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
_SHORT_NAMES = {"trl": "train_loss", "tel": "val_loss", "s": "step"}
# Numbers that say where or who, not how well.
_NOT_METRICS = frozenset("shape eta line rank gpu device pid seed port id version v_num world_size".split())
# What a model was asked or answered: Final answer: 42
_NOT_METRICS |= frozenset("answer question solution".split())


def key_values(line: str, tokens: list[Token]) -> LinePlan | None:
    """What the numbers of a line are, by the words before them. None if the line has no named number."""
    if len(line) > MAX_LINE_CHARS or is_prose(line):
        return None
    names = _Names(line)
    for place, token in enumerate(tokens):
        names.add(place, token)
    return names.plan()


class _Names:
    """Names the numbers of one line from left to right."""

    def __init__(self, line: str) -> None:
        self._found: list[tuple[int, str, float, str]] = []  # place, name, factor, part of the line
        self._previous = ""  # the column of the number before, if it has one
        self._is_first = True
        uncolored = _COLORS.sub("", line)
        plain = _LOGGER.sub("", uncolored)
        self._split = ""
        self._part = ""  # "Val" after `Val Loss: 2.1`, up to a bar
        self._is_titled = False  # whether the part is a word of its own
        self._is_progress = False
        self._fraction: list[tuple[str, float]] = []  # the number before, or the two of a fraction, and its name
        self._is_field = False  # whether the number before was the first of a field without a name
        self._subject = ""  # the network that the numbers are about
        self._is_best = bool(_BEST_SO_FAR.search(plain))
        self._is_summary = bool(_IS_SUMMARY.search(uncolored))
        self._is_bar = bool(_BAR.match(plain))
        self._is_count_of = bool(_COUNT_OF.match(plain))
        self._is_pair = bool(_PAIR.match(plain))
        self._has_pairs = bool(_PAIRS.search(plain))
        self._is_cell = plain.count("|") == _CELL_BARS
        self._counts_evaluation = False
        self._has_bar = "%|" in plain
        # A progress bar counts if it prints metrics: 45/100 [00:10<00:12, 4.5it/s, loss=2.5]
        self._bar_measures = bool(re.search(r"(?:it/s|s/it)\s*,\s*\w+\s*=", plain)) if self._has_bar else False

    def add(self, place: int, token: Token) -> None:
        if token.is_time:
            self._keep(place, token.time_column, 1.0)
            self._previous = ""
            return
        before = _COLORS.sub("", token.before)[-_MAX_NAME_CHARS:]
        first, self._is_first = self._is_first, False
        heading, _, before = before.rpartition("\n")
        if titled := _HEADING.fullmatch(heading):
            self._split = titled["split"].lower()
        for found in _SPLIT.finditer(before):
            split = found["split"].lower()
            self._split = "" if split.startswith("train") and not self._is_summary else split
        if "|" in before:
            self._part = ""
        if self._is_progress and before.strip() == "(" and token.after.startswith(")") and self._previous:
            self._replace(place)  # the average so far, which is that of the whole set in the end
            return
        if before.strip() == "=" and (share := self._accuracy(token.value)):
            self._found = [one for one in self._found if one[1] != self._fraction[0][0]]
            self._keep(place, share, 1.0)
            return
        if before.strip() == "/" and _ACCURACY.search(self._previous) and 0 <= self._fraction[0][1] <= token.value:
            self._divide(token.value)
        name = self._counted(before, token, first=first) or self._named(before, token, first=first)
        name = name or self._by_unit(place, before, token)
        self._fraction = [*self._fraction, ("", token.value)] if before.strip() == "/" else [(name, token.value)]
        self._previous = name
        if name:
            self._keep(place, name, _factor(token.after))
        if name == "iter" and self._has_bar:
            self._keep(place, BAR, 1.0)

    def _by_unit(self, place: int, before: str, token: Token) -> str:
        """The column of a number that only the unit after it names: `(2.006 bpd)`, `; 11270/8704 tok/s; 4 sec`."""
        after = _COLORS.sub("", token.after)
        if before.strip() == "(" and self._previous and (unit := loss_unit(after)):
            split = _LEADING_SPLIT.match(self._previous)
            return f"{split['split']}/{unit}" if split else unit
        name = unit_name(after) if self._found and not self._has_bar else ""
        if before.strip() == "/" and name.count("/") and self._is_field:
            self._keep(place - 1, f"src_{name}", 1.0)  # a translation: rates of both languages
            return f"tgt_{name}"
        self._is_field = before.rstrip().endswith((";", ",", "|"))
        return name if self._is_field else ""

    def _keep(self, place: int, name: str, factor: float) -> None:
        if found := _PART.match(name):
            self._part = found["part"]
        self._found.append((place, name, factor, self._part))

    def _accuracy(self, value: float) -> str:
        """The column of the value of a fraction, `HellaSwag: 3059/10042 = 0.3046`; empty if it is not one."""
        if len(self._fraction) != 2:
            return ""
        (name, right), (_, total) = self._fraction
        is_share = 0 <= right <= total and total > 0 and abs(right / total - value) < 0.01
        return f"{name}/accuracy" if is_share and name and not is_counter(name) else ""

    def _has(self, name: str) -> bool:
        return any(found[1] == name for found in self._found)

    def _replace(self, place: int) -> None:
        _, name, factor, part = self._found.pop()
        self._found.append((place, name, factor, part))
        self._previous = ""

    def _divide(self, total: float) -> None:
        """`Accuracy: 9321/10000` is a share."""
        place, name, factor, part = self._found.pop()
        self._found.append((place, name, factor / total if total > 1 else factor, part))

    def plan(self) -> LinePlan | None:
        columns: dict[str, tuple[int, str, float]] = {}
        for place, name, factor in self._by_part():
            if name in columns and ("loss" in name.lower() or _SCORE.match(name)):
                name += "'"  # another value of the same metric
            columns.setdefault(name, (place, name, factor))
        names = [name for name in columns if not name.endswith((")", TOTAL)) or is_counter(name)]
        return LinePlan(tuple(columns.values())) if names or BARE in columns else None

    def _by_part(self) -> Iterator[tuple[int, str, float]]:
        """The columns. `Train Loss: 2 Acc: 0.5 | Val Loss: 3 Acc: 0.4` has two accuracies: Train_Acc and Val_Acc.

        So do two lines, `train Loss: 2 Acc: 0.5` and `val Loss: 3 Acc: 0.4`.
        """
        parts: dict[str, list[str]] = {}
        for _, name, _, part in self._found:
            parts.setdefault(name, []).append(part)
        titled = self._is_titled and len({part for *_, part in self._found if part}) == 1
        for place, name, factor, part in self._found:
            has_parts = len(set(parts[name])) > 1 and all(parts[name]) and not is_counter(name)
            has_parts = has_parts or (titled and bool(part) and bool(_SCORE.match(name)))
            yield place, f"{part}_{name}" if has_parts else name, factor

    def _counted(self, before: str, token: Token, *, first: bool) -> str:
        """The column of a number that counts by its place: a total, an iteration after an epoch, [3] at the start."""
        joint, previous = (_LOGGER.sub("", before) if first else before).strip(), self._previous
        whole = token.text.isdigit()
        after = _COLORS.sub("", token.after)
        if previous and (is_counter(previous) or previous in (PROGRESS, BARE)) and joint in ("/", "of", "out of"):
            return previous + TOTAL
        if not whole:
            return ""
        if previous in ("epoch", "epoch" + TOTAL) and not self._counts_evaluation:
            if joint and not joint.strip("[](),:;|-") and (after.lstrip().startswith("/") or joint[-1] in "[("):
                return "iter"
            if joint.strip("[](),:;|-% ") == "" and after.lstrip().startswith("/"):
                return "iter"
        if (found := _COUNT_AFTER.match(after)) and not after.startswith(" "):
            return _counter_name(found["count"])
        if (found := _COUNT_AFTER.match(after)) and found[0][:2].lower() in ("st", "nd", "rd", "th"):
            return _counter_name(found["count"])
        if self._has_bar:
            if not (joint.endswith("|") and after.startswith("/")):
                return ""
            return "iter" if self._bar_measures else BARE
        if first and self._is_bar:
            return PROGRESS
        if first and joint == "[" and after.startswith(("][", "] [")):
            return "epoch"
        if first and joint == "" and self._is_count_of:
            return "step"  # 10/20000 loss: 9.0
        if first and joint == "[" and self._is_pair:
            return "epoch"  # [12/30][400/1251]; without a second pair it is the only count
        if joint.endswith("[") and self._has_pairs and not self._has("epoch") and after.lstrip().startswith("/"):
            return "epoch"
        if first and joint == "[" and re.match(r"\]\s+\S*[A-Za-z]", after):
            return "iter"  # [10]  train-rmse:0.5
        if first and joint == "" and re.match(r":\s+[A-Za-z]", after):
            return "iter"  # 10:  learn: 0.5  test: 0.6
        return ""

    def _named(self, before: str, token: Token, *, first: bool) -> str:
        """The column of a number by the words before it; empty if it has none."""
        stripped = before.strip()
        if self._has_bar and token.after.startswith("%|"):
            return ""
        if stripped in ("(", "/", "-", "~") or (stripped.endswith(("(", "±", "+-", "+/-")) and self._previous):
            return ""  # an average in brackets, a fraction, a range
        if not first:
            before = _UNIT.sub("", before)
        if not first and _RESULT_IN_UNITS.match(before):
            return ""
        if re.search(r":\w+:$", before) or (re.search(r"[\[(][\w.]+:$", before) and token.after[:1] in ")],"):
            return ""  # module:function:58 or (module:58), where a message comes from
        if before.endswith(":") and _LEVEL_AFTER.match(token.after):
            return ""  # module:58 INFO
        signed = True
        found = _TABLE_CELL.match(before) if self._is_cell else None
        if found is None:
            found = _NAMED.search(before)
            if found is None:
                return ""
            if found["name"].endswith(".") and ">" in found["join"]:
                return ""  # How many apples are left. -> 5
            signed = not found["join"].isspace() or bool(_FILLERS.search(found["name"]))
        raw = _ABBREVIATION.sub(r"\1 ", _FILLERS.sub("", found["name"])).rpartition(". ")[2].strip(" -_.")
        if counted := _COUNT_OF_SPLIT.fullmatch(raw):
            self._counts_evaluation = counted["split"].lower() != "train"
            return "" if self._counts_evaluation and counted["count"].lower() == "iter" else counted["count"].lower()
        if token.after.startswith("_"):
            return ""  # a part of a name: 20261118_015048
        if (counter := _COUNTER.fullmatch(raw)) and (token.text.replace(",", "").isdigit()):
            # DeepSpeed: epoch=0/micro_step=20/global_step=10, where other lines say step=10.
            return "step" if before.startswith("/global_step") else _counter_name(counter["count"])
        if token.text.replace(",", "").isdigit():
            if _TOTAL_STEPS.fullmatch(raw):
                return "total_timesteps"
            if _OTHER_COUNT.fullmatch(raw):
                return ""
            if _PROGRESS_WORD.fullmatch(raw) and token.after.startswith("/"):
                if not stripped.endswith("[") or raw.lower().startswith("train"):
                    return ""
                self._is_progress = True
                return PROGRESS  # Test: [20/98]
        if _CHANGE.search(raw) or _AMOUNT.fullmatch(raw):
            return ""
        words = raw.split(" ")
        while len(words) > 1 and words[0].lower().strip(":") in _LEVELS:
            words = words[1:]
        if words[-1].lower() in _LEVELS:
            return ""
        if not signed:
            if not _METRIC_WORD.search(words[-1]):
                return ""
            is_title = not first and len(words) == 2 and words[0].istitle() and stripped == raw  # 0.5 Prune Rate 0.3
            words = words[-2:] if is_title or (words[-2:-1] and words[-2].lower() in _QUALIFIERS) else words[-1:]
        self._is_titled = self._is_titled or (len(words) == 2 and bool(_SPLIT_WORD.fullmatch(words[0])))
        name = "_".join(words)
        if words[-1].lower() in _NOT_METRICS or _SOURCE.search(name) or name.count("(") != name.count(")"):
            return ""
        name = self._of_subject(_SHORT_NAMES.get(name, name), before[: found.start("name")])
        if self._is_best and "best" not in name.lower():
            name = f"best_{name}"
        if self._split and not is_counter(name) and not _HAS_SPLIT.search(name):
            return f"{self._split}/{name}"
        return name

    def _of_subject(self, name: str, before: str) -> str:
        """The name after that of the network that it is about, if that was named before it."""
        if subject := _SUBJECT.search(before):
            self._subject = subject["subject"]
        if _HAS_SUBJECT.search(name):
            self._subject = ""
        return f"{self._subject}/{name}" if self._subject and not is_counter(name) else name


def _counter_name(word: str) -> str:
    """The column for a counter, one name for all its spellings."""
    word = re.sub(r"[ _\-]+", "_", word.lower())
    if word.endswith("s") and word not in ("num_updates", "timesteps", "frames"):
        word = word.removesuffix("es") if word == "batches" else word.removesuffix("s")
    if "batch" in word:
        return "batch"
    return _COUNTER_NAMES.get(word, word)


_COUNTER_NAMES = {"iteration": "iter", "it": "iter", "ep": "epoch", "timestep": "timesteps", "frame": "frames"}


def _factor(after: str) -> float:
    """1.5M is 1500000; 5m is five of something."""
    if after[:1] in _UNITS and not after[1:2].isalpha():
        return _UNITS[after[0]]
    return 1.0
