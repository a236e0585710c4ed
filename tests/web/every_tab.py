"""The tabs of the page, in their order."""

TABS = [
    *("health", "scalars", "timeseries", "distributions", "histograms", "text"),
    *("images", "audio", "hparams", "system", "graph", "compare", "guide", "alerts"),
]
