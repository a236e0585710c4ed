"""Gradient boosting by LightGBM; the log is the text of its evaluations."""

import numpy as np

from zoo.foreign import toy_data
from zoo.foreign.base import Base, Training, main, stdout_to
from zoo.foreign.truth import fault, harmless

FEATURES = 16


def preload() -> None:
    """Import the framework."""
    import lightgbm  # noqa: F401


def train(training: Training) -> None:
    """Train with the settings."""
    import lightgbm as lgb

    s = training.settings
    data = toy_data.table(
        s.n_train, 800, features=FEATURES, noise=s.noise, seed=training.seed, shuffle_labels=s.shuffle_labels
    )
    train_x, val_x = data.train_x.copy(), data.val_x.copy()
    if s.leak:
        train_x[:, -1] = data.train_y + 0.1 * np.random.default_rng(0).standard_normal(s.n_train)
    if s.columns_swapped:
        val_x = np.roll(val_x, 1, 1)
    training_set = lgb.Dataset(train_x, data.train_y)
    validation_set = lgb.Dataset(val_x, data.val_y, reference=training_set)
    callbacks = [lgb.log_evaluation(1)]
    if s.stop_early:
        callbacks.append(lgb.early_stopping(10))
    parameters = {
        "objective": "binary",
        "metric": ["binary_logloss", "auc"],
        "learning_rate": s.lr,
        "num_leaves": s.leaves,
        "min_data_in_leaf": s.min_leaf,
        "lambda_l2": s.l2,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "feature_fraction": 0.8,
        "num_threads": 1,
        "seed": training.seed,
        "verbosity": 1,
    }
    with stdout_to("train.log"):
        lgb.register_logger(PrintLogger())
        lgb.train(
            parameters,
            training_set,
            num_boost_round=s.rounds,
            valid_sets=[training_set, validation_set],
            callbacks=callbacks,
        )


class PrintLogger:
    """LightGBM's messages, printed by Python so that they can be redirected."""

    def info(self, message: str) -> None:
        """Print it."""
        print(message.rstrip("\n"))

    warning = info


BASE = Base(
    name="lightgbm_table",
    framework="LightGBM",
    log="the text of log_evaluation",
    packages=("lightgbm",),
    settings={
        "lr": 0.05,
        "leaves": 7,
        "min_leaf": 40,
        "l2": 1.0,
        "rounds": 120,
        "n_train": 4000,
        "noise": 1.5,
        "shuffle_labels": False,
        "leak": False,
        "columns_swapped": False,
        "stop_early": False,
    },
    tiny={"rounds": 12, "n_train": 400},
    faults=(
        fault("lr-x100", "lr-high", lr=5.0, also=("overfitting",)),
        fault("lr-div-1000", "lr-low", lr=5e-5),
        fault(
            "too-deep",
            "tiny-data",
            lr=0.3,
            leaves=255,
            min_leaf=1,
            l2=0.0,
            causes=("too-little-data", "lr-too-high", "label-noise"),
        ),
        fault("tiny-data", "tiny-data", n_train=100, min_leaf=2, lr=0.2, l2=0.0, rounds=200),
        fault("labels-shuffled", "labels", shuffle_labels=True),
        fault(
            "target-leak", "val-preprocessing", leak=True, also=("loss-too-good",), causes=("target-leak", "eval-bug")
        ),
        fault("columns-swapped", "val-preprocessing", columns_swapped=True),
        fault(
            "leaf-too-large",
            "lr-low",
            min_leaf=3900,
            causes=("capacity-too-small", "lr-too-low", "optimizer-not-stepping"),
        ),
        harmless("stopped-early", stop_early=True),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
