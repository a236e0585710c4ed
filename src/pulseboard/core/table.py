"""Tables: named columns of equal length, convertible to data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulseboard.core.errors import MissingPackage

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Table:
    """Adds data frame conversions to a class that has `columns`. Each library is imported on first use."""

    __slots__ = ()

    def columns(self) -> dict[str, Any]:
        """The table's columns, in order: NumPy arrays or lists of equal length."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame."""
        try:
            import pandas
        except ImportError as error:
            raise MissingPackage("to_pandas()", package="pandas", extra="pandas") from error
        return pandas.DataFrame(self.columns())

    def to_polars(self) -> polars.DataFrame:
        """The table as a polars data frame."""
        try:
            import polars
        except ImportError as error:
            raise MissingPackage("to_polars()", package="polars", extra="polars") from error
        return polars.DataFrame(self.columns())

    def to_arrow(self) -> pyarrow.Table:
        """The table as an Arrow table."""
        try:
            import pyarrow
        except ImportError as error:
            raise MissingPackage("to_arrow()", package="pyarrow", extra="arrow") from error
        return pyarrow.table(self.columns())
