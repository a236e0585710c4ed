"""The shard exchange: rank 0 adds up what each rank measured of a sharded model, without a collective call.

A collective call waits for every rank. One rank that does not watch, has stopped watching, or failed, would hang the
training. So each rank leaves its numbers in the store of the process group, from its worker thread, and rank 0 takes
them from there when they have arrived. Nothing waits.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulseboard.record.messages import warn_once
from pulseboard.record.numbers import read_from_devices

if TYPE_CHECKING:
    from pulseboard.record.active_run import ActiveRun

# How many results of a measurement the store keeps per rank; later ones overwrite them.
_KEPT = 256
_POLL_SECS = 0.02
_watched: Counter[str] = Counter()  # how often this process has watched a model of this layout

Log = Callable[[Sequence[Any], Sequence[Any]], None]  # takes sums and maxima over the whole model


@dataclass(slots=True)
class _Waiting:
    """A measurement on rank 0 whose other parts have not arrived."""

    index: int
    values: list[float]
    sums: int  # how many of the values are sums; the rest are maxima
    log: Log


class ShardExchange:
    """One model. `add` is called by every rank that watches it, with the same index for the same training step."""

    def __init__(self, torch: Any, run: ActiveRun, *, ranks: Sequence[int], layout: str) -> None:
        self._torch, self._run, self._rank = torch, run, run.rank.rank
        self._others = [rank for rank in ranks if rank != self._rank]
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._off = 0 not in ranks or not self._others
        self._complete = False  # every rank is known to watch
        key = hashlib.sha256(layout.encode()).hexdigest()[:16]
        _watched[key] += 1
        store = torch.distributed.distributed_c10d._get_default_store()
        store = store.clone() if hasattr(store, "clone") else store
        self._store = torch.distributed.PrefixStore(f"pulseboard/{key}/{_watched[key]}", store)
        # Before the first forward pass, in which all ranks take part: a rank that is missing afterwards does not watch.
        self._store.set(f"watches/{self._rank}", "")
        if self._rank == 0:
            run.before_finish(self._collect_rest)

    def add(self, id: str, index: int, sums: Sequence[Any], maxima: Sequence[Any], log: Log) -> None:
        """This rank's part of a measurement; `log` is called on rank 0."""
        if self._off:
            return
        numbers = {str(i): value for i, value in enumerate((*sums, *maxima))}
        pending, _ = read_from_devices({name: v for name, v in numbers.items() if self._torch.is_tensor(v)})

        def job() -> None:
            values = [pending[name]() if name in pending else float(value) for name, value in numbers.items()]
            if self._rank:
                self._store.set(self._key(id, index, self._rank), json.dumps([index, values]))
            else:
                self._waiting.setdefault(id, deque()).append(_Waiting(index, values, len(sums), log))
                self._collect()

        self._run.in_background(lambda: self._guarded(job))

    def _key(self, id: str, index: int, rank: int) -> str:
        return f"{id}/{index % _KEPT}/{rank}"

    # ---- rank 0, on its worker thread

    def _collect(self) -> None:
        """Log what all ranks have sent. Each rank sends in order, so the oldest arrives first."""
        if not self._complete and not self._all_watch():
            return
        for id, waiting in self._waiting.items():
            while waiting and (parts := self._parts(id, waiting[0].index)) is not None:
                self._log(waiting.popleft(), parts)
            if len(waiting) > _KEPT:
                waiting.popleft()
                warn_once(
                    f"shards {id}",
                    f"watch() has no {id} of the whole model any more: another rank has stopped sending its part. "
                    "Keep watching on every rank.",
                )

    def _all_watch(self) -> bool:
        missing = [rank for rank in self._others if not self._store.check([f"watches/{rank}"])]
        if missing:
            self._off = True
            self._waiting.clear()
            warn_once(
                "shards missing",
                f"Rank {missing[0]} does not watch, but holds part of the model: norms, shares and ratios of the "
                "whole model are not logged. Call pulseboard.init() and watch() on every rank.",
            )
        self._complete = not missing
        return self._complete

    def _parts(self, id: str, index: int) -> list[list[float]] | None:
        """What the other ranks measured; None if something is still missing."""
        keys = [self._key(id, index, rank) for rank in self._others]
        if not self._store.check(keys):  # reading a missing key would wait for it
            return None
        found = self._store.multi_get(keys) if self._store.has_extended_api() else [self._store.get(k) for k in keys]
        indexes, parts = zip(*(json.loads(one) for one in found), strict=True)
        return list(parts) if set(indexes) == {index} else None  # otherwise some are from _KEPT steps ago

    def _log(self, own: _Waiting, parts: list[list[float]]) -> None:
        table = self._torch.tensor([own.values, *parts], dtype=self._torch.float64)
        sums, maxima = table[:, : own.sums].sum(0), table[:, own.sums :]
        own.log(sums.unbind(), maxima.max(0).values.unbind() if maxima.shape[1] else ())

    def _collect_rest(self, *, timeout_secs: float = 5.0) -> None:
        """At the end of the run: give the last parts of the other ranks time to arrive."""
        give_up_at = time.monotonic() + timeout_secs
        self._guarded(self._collect)
        while not self._off and any(self._waiting.values()) and time.monotonic() < give_up_at:
            time.sleep(_POLL_SECS)
            self._guarded(self._collect)

    def _guarded(self, job: Callable[[], None]) -> None:
        try:
            if not self._off:
                job()
        except Exception as error:  # the store is gone, for example after destroy_process_group
            self._off = True
            cause = f"{type(error).__name__}: {error}".partition("\n")[0]
            warn_once("shards store", f"watch() logs nothing of the whole model now: {cause}. Training continues.")
