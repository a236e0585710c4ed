"""Gradient boosting by XGBoost on a regression; the log is the text that its training prints."""

import numpy as np

from zoo.bases.lightning_regression import rows
from zoo.foreign.base import Base, Training, main, stdout_to
from zoo.foreign.truth import fault, harmless


def preload() -> None:
    """Import the framework."""
    import xgboost  # noqa: F401


def train(training: Training) -> None:
    """Train with the settings."""
    import xgboost

    s = training.settings
    x, y = rows(s.n_train, seed=training.seed)
    val_x, val_y = rows(800, seed=1000 + training.seed, offset=s.eval_offset)
    rng = np.random.default_rng(training.seed)
    if s.shuffle_targets:
        y = rng.permutation(y)
    if s.noise_only:
        x, val_x = rng.standard_normal(x.shape), rng.standard_normal(val_x.shape)
    if s.leak:
        x[:, -1] = y[:, 0]
    training_set = xgboost.DMatrix(x, y)
    validation_set = xgboost.DMatrix(val_x, val_y)
    parameters = {
        "objective": "reg:squarederror",
        "eta": s.eta,
        "max_depth": s.depth,
        "min_child_weight": s.min_child,
        "lambda": s.l2,
        "subsample": s.subsample,
        "nthread": 1,
        "seed": training.seed,
    }
    with stdout_to("xgb.log"):
        xgboost.train(
            parameters,
            training_set,
            num_boost_round=s.rounds,
            evals=[(training_set, "train"), (validation_set, "eval")],
            verbose_eval=False,
            callbacks=[xgboost.callback.EvaluationMonitor(logger=lambda text: print(text, end=""))],
        )


BASE = Base(
    name="xgboost_regression",
    framework="XGBoost",
    log="printed text",
    packages=("xgboost",),
    settings={
        "eta": 0.08,
        "depth": 3,
        "min_child": 5,
        "l2": 1.0,
        "subsample": 0.8,
        "rounds": 150,
        "n_train": 4000,
        "eval_offset": 0.0,
        "shuffle_targets": False,
        "noise_only": False,
        "leak": False,
    },
    tiny={"rounds": 12, "n_train": 300},
    faults=(
        fault("eta-x30", "lr-high", eta=2.4, also=("overfitting",)),
        fault("eta-div-1000", "lr-low", eta=8e-5),
        fault(
            "too-deep",
            "tiny-data",
            eta=0.5,
            depth=14,
            min_child=0,
            l2=0.0,
            causes=("too-little-data", "lr-too-high", "label-noise"),
        ),
        fault("tiny-data", "tiny-data", n_train=80, min_child=1, eta=0.3),
        fault("targets-shuffled", "labels", shuffle_targets=True),
        fault(
            "target-leak", "val-preprocessing", leak=True, also=("loss-too-good",), causes=("target-leak", "eval-bug")
        ),
        fault("eval-other-units", "val-preprocessing", eval_offset=6.0),
        fault("l2", "lr-low", l2=1e7, causes=("weight-decay-too-high", "lr-too-low", "capacity-too-small")),
        harmless("fewer-rounds", rounds=100),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
