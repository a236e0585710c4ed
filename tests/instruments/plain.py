"""Plain, slow definitions in float64 of what each instrument computes; and inputs that are hard."""

import numpy as np
import torch


def cosine(a, b):
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norms) if norms > 0 else 0.0


def effective_rank(x):
    x = np.asarray(x, dtype=np.float64)
    if len(x) < 2 or (x == x[0]).all():
        return 0.0
    s = np.linalg.svd(x - x.mean(0), compute_uv=False) ** 2
    p = s[s > 0] / s.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


def pair_cosines(x):
    return [cosine(x[i], x[j]) for i in range(len(x)) for j in range(len(x)) if i != j]


def softmax(row):
    e = [np.exp(v - max(row)) for v in row]
    return [v / sum(e) for v in e]


def as_floats(found):
    """An instrument's values as floats; in a test, waiting for a device is fine."""
    return {tag: float(value) for tag, value in found.items()}


def assert_close(got, want, *, rtol=1e-5, atol=1e-6):
    assert set(got) == set(want)
    for tag, value in want.items():
        np.testing.assert_allclose(float(got[tag]), value, rtol=rtol, atol=atol, err_msg=tag)


# Features that are hard to handle, by the reason.
HARD = {
    "zeros": np.zeros((6, 4)),
    "constant": np.full((6, 4), 0.1),
    "rank one": np.outer(np.arange(1, 7.0), [1.0, -2.0, 3.0, 0.5]),
    "one row": np.array([[1.0, 2.0, 3.0, 4.0]]),
    "one column": np.arange(5.0)[:, None],
    "a NaN": np.array([[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]]),
    "an infinity": np.array([[1.0, np.inf], [2.0, 3.0], [0.0, 1.0]]),
    "no rows": np.zeros((0, 4)),
    "no columns": np.zeros((4, 0)),
    "a vector": np.array([1.0, 2.0]),
    "a number": np.array(3.0),
    "huge": np.array([[1e30, -1e30], [1e30, 1e30], [0.0, 1.0]]),
    "tiny": np.array([[1e-30, -1e-30], [1e-30, 1e-30], [0.0, 1e-30]]),
}
KINDS = {
    "numpy": lambda x: x,
    "list": lambda x: x.tolist(),
    "float32": lambda x: torch.tensor(x, dtype=torch.float32),
    "float64": lambda x: torch.tensor(x, dtype=torch.float64),
    "bf16": lambda x: torch.tensor(x, dtype=torch.bfloat16),
    "with a gradient": lambda x: torch.tensor(x, dtype=torch.float32, requires_grad=True) * 1,
}
