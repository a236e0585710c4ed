"""Runs in ClickHouse, for teams whose runs outgrow one machine.

`push` copies log directories into a database, every row once; `stored` presents what is there as runs, and as charts.
The room never writes to a log directory.
"""
