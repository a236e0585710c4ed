"""SummaryWriter's scalars, hyperparameters, and layouts of custom scalars."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Any

from pulseboard.core.values import Chart, ChartCategory, MarginSeries
from pulseboard.record.arrays import is_tensor
from pulseboard.record.compat.file_writer import FileWriter, wall_time, whole_step
from pulseboard.record.compat.single_number import single_number
from pulseboard.record.compat.writer_files import WriterFiles
from pulseboard.tbformat.codecs.custom_scalars import encode_layout
from pulseboard.tbformat.codecs.hparams import HParam, encode_hparams
from pulseboard.tbformat.codecs.scalar import Form, encode_scalar_value


class ScalarMethods(WriterFiles):
    """The methods of SummaryWriter that log scalars, or describe them."""

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log one number. With `new_style` it is stored as a tensor, optionally in `double_precision`."""
        writer = self.file_writer or self._get_file_writer()
        if new_style:
            form: Form = "double_tensor" if double_precision else "float_tensor"
            value = encode_scalar_value(tag, value=single_number(scalar_value), form=form)
            writer.add_values(value, step=global_step, walltime=walltime)
            return
        left_out = writer.file.scalars(
            {tag: scalar_value},
            0 if global_step is None else int(global_step),
            time.time() if walltime is None else walltime,
            single_number,
        )
        if left_out:
            raise TypeError(f"A tag must be text that UTF-8 can hold, of at most 1 MiB; not {str(tag)[:100]!r}.")

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log numbers that share a chart, each to its own run below this one."""
        wall = wall_time(walltime)
        prefix = f"{self._get_file_writer().get_logdir()}/{main_tag.replace('/', '_')}_"
        for tag, value in tag_scalar_dict.items():
            writer = self._file_writer_in(prefix + tag)
            writer.file.scalars({main_tag: value}, whole_step(global_step), wall, single_number)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Log hyperparameters and the resulting metrics to a run below this one, named `run_name` or by the time."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict must be dictionaries.")
        domains = _checked_domains(hparam_domain_discrete, hparams=hparam_dict)
        values = {name: _hparam(value, name=name) for name, value in hparam_dict.items()}
        metrics = {tag: single_number(value) for tag, value in metric_dict.items()}
        records = encode_hparams(values, metrics=metrics, domains=domains)
        writer = FileWriter(os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time())))
        for record in records:
            writer.add_values(record, step=global_step)
        for tag, number in metrics.items():
            writer.file.scalars({tag: number}, whole_step(global_step), time.time(), single_number)
        writer.close()

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Arrange scalars in charts: {category: {chart: ['Multiline', tags] or ['Margin', [value, lower, upper]]}}."""
        categories = [
            ChartCategory(title=title, closed=False, charts=tuple(starmap(_chart, charts.items())))
            for title, charts in layout.items()
        ]
        self._add(encode_layout(categories))

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Draw the curves of all `tags` in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Draw the first of three tags as a curve, and the others as the band around it."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})


def _hparam(value: Any, *, name: str) -> HParam | None:
    if value is None or isinstance(value, str):
        return value
    # A bool is a number, as in torch.
    if isinstance(value, int | float) or is_tensor(value) or hasattr(value, "__array__"):
        return single_number(value)
    raise ValueError(f"The hyperparameter {name!r} must be an int, float, str, bool or a tensor of one number.")


def _checked_domains(domains: dict[str, list[Any]] | None, *, hparams: dict[str, Any]) -> dict[str, list[HParam]]:
    if not isinstance(domains or {}, dict):
        raise TypeError("hparam_domain_discrete must be a dictionary.")
    checked: dict[str, list[HParam]] = {}
    for name, items in (domains or {}).items():
        if (
            name not in hparams
            or not isinstance(items, list)
            or not all(isinstance(i, type(hparams[name])) for i in items)
        ):
            raise TypeError(f"hparam_domain_discrete[{name!r}] must be a list of values like hparam_dict[{name!r}].")
        checked[name] = [item for item in (_hparam(i, name=name) for i in items) if item is not None]
    return checked


def _chart(title: str, properties: Sequence[Any]) -> Chart:
    kind, tags = properties[0], properties[1]
    if kind != "Margin":
        return Chart(title=title, tags=tuple(tags))
    if len(tags) != 3:
        raise AssertionError(f"The margin chart {title!r} needs 3 tags (value, lower, upper), not {len(tags)}.")
    return Chart(title=title, series=(MarginSeries(*tags),))
