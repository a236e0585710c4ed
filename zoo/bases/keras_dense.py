"""A dense network on a table in Keras; the log is what `model.fit(verbose=2)` prints."""

from zoo.foreign import keras_setup, toy_data
from zoo.foreign.base import Base, Training, main, stdout_to
from zoo.foreign.truth import fault, harmless

FEATURES = 16


def train(training: Training) -> None:
    """Train with the settings."""
    import keras
    import numpy as np
    import torch

    s = training.settings
    keras.utils.set_random_seed(training.seed)
    torch.set_num_threads(1)
    data = toy_data.table(
        s.n_train, 400, features=FEATURES, noise=1.0, seed=training.seed, shuffle_labels=s.shuffle_labels
    )
    train_x, val_x = data.train_x, data.val_x
    if s.leak:
        train_x = train_x.copy()
        train_x[:, -1] = 2.0 * data.train_y - 1
    if s.raw_feature:
        train_x, val_x = train_x.copy(), val_x.copy()
        train_x[:, 0] *= 1e4
        val_x[:, 0] *= 1e4
    onset = training.onset(s.epochs, first=1) if s.crash else s.epochs + 1
    regularizer = keras.regularizers.L2(s.l2) if s.l2 else None
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(64, activation="relu", kernel_regularizer=regularizer),
            keras.layers.Dense(64, activation="relu", kernel_regularizer=regularizer),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer=keras.optimizers.SGD(s.lr, momentum=0.9), loss="binary_crossentropy", metrics=["accuracy"])
    if not s.training:
        model.trainable = False
    callbacks = [keras_setup.crash_at(onset - 1)] if s.crash else []
    if s.stop_early:
        callbacks.append(keras.callbacks.EarlyStopping(patience=3, verbose=1))
    val_y = np.random.default_rng(0).permutation(data.val_y) if s.eval_shuffled else data.val_y
    with stdout_to("train.log"):
        model.fit(
            train_x,
            data.train_y,
            batch_size=s.batch,
            epochs=s.epochs,
            validation_data=(val_x, val_y),
            callbacks=callbacks,
            verbose=2,
        )


BASE = Base(
    name="keras_dense",
    framework="Keras",
    log="the text of model.fit(verbose=2)",
    packages=("torch", "keras"),
    settings={
        "lr": 0.02,
        "l2": 1e-3,
        "epochs": 14,
        "batch": 100,
        "n_train": 4800,
        "shuffle_labels": False,
        "raw_feature": False,
        "leak": False,
        "training": True,
        "crash": False,
        "eval_shuffled": False,
        "stop_early": False,
    },
    tiny={"n_train": 128, "epochs": 3},
    faults=(
        fault("lr-x300", "lr-high", lr=6.0),
        fault("lr-div-1000", "lr-low", lr=2e-5),
        fault("all-frozen", "not-stepping", training=False),
        fault("labels-shuffled", "labels", shuffle_labels=True),
        fault("tiny-data", "tiny-data", n_train=64, epochs=120),
        fault("l2", "weight-decay", l2=1.0),
        fault("raw-feature", "bad-init", raw_feature=True, also=("loss-diverged", "loss-noisy", "loss-at-ignorance")),
        fault(
            "target-leak", "val-preprocessing", leak=True, also=("loss-too-good",), causes=("target-leak", "eval-bug")
        ),
        fault("eval-shuffled", "val-preprocessing", eval_shuffled=True),
        fault("crash", "crash", crash=True),
        harmless("stopped-early", stop_early=True),
    ),
    train=train,
    preload=keras_setup.preload,
)

if __name__ == "__main__":
    main(BASE)
