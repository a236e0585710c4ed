"""A small convolutional network in Keras, logged by its CSVLogger: one row per epoch."""

from zoo.foreign import keras_setup, toy_data
from zoo.foreign.base import Base, Training, main
from zoo.foreign.truth import fault, harmless

CLASSES, SIZE = 6, 12


def train(training: Training) -> None:
    """Train with the settings."""
    import keras
    import numpy as np
    import torch

    s = training.settings
    keras.utils.set_random_seed(training.seed)
    torch.set_num_threads(1)
    data = toy_data.images(
        s.n_train, 300, classes=CLASSES, size=SIZE, noise=1.4, seed=training.seed, shuffle_labels=s.shuffle_labels
    )
    onset = training.onset(s.epochs) if s.nan or s.crash or s.restart else s.epochs
    base = keras.Sequential(
        [
            keras.layers.Conv2D(8, 3, activation="relu", padding="same", kernel_initializer=s.init),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(16, 3, activation="relu", padding="same", kernel_initializer=s.init),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
        ]
    )
    model = keras.Sequential(
        [
            keras.Input((SIZE, SIZE, 1)),
            base,
            keras.layers.Dropout(0.2),
            keras.layers.Dense(CLASSES, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(s.lr, weight_decay=s.weight_decay or None),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )

    def schedule(epoch: int, _: float) -> float:
        epoch = epoch % onset if s.restart else epoch
        return float(s.lr * s.decay**epoch)

    callbacks = [keras.callbacks.LearningRateScheduler(schedule), keras.callbacks.CSVLogger("training.log")]
    callbacks += [keras_setup.nan_at(onset)] if s.nan else []
    callbacks += [keras_setup.crash_at(onset)] if s.crash else []
    x, val_x = (np.moveaxis(part, 1, -1) for part in (data.train_x, data.val_x))
    model.fit(
        x * s.scale,
        data.train_y,
        batch_size=s.batch,
        epochs=s.epochs,
        validation_data=(val_x * 255 if s.eval_raw else val_x * s.scale, data.val_y),
        callbacks=callbacks,
        verbose=0,
    )


BASE = Base(
    name="keras_cnn",
    framework="Keras",
    log="training.log of CSVLogger",
    packages=("torch", "keras"),
    settings={
        "lr": 2e-3,
        "weight_decay": 0.0,
        "decay": 0.93,
        "epochs": 18,
        "batch": 50,
        "n_train": 640,
        "shuffle_labels": False,
        "init": "glorot_uniform",
        "scale": 1.0,
        "nan": False,
        "crash": False,
        "restart": False,
        "eval_raw": False,
    },
    tiny={"n_train": 128, "epochs": 3},
    faults=(
        fault("lr-x100", "lr-high", lr=0.2),
        fault("lr-div-1000", "lr-low", lr=2e-6),
        fault("labels-shuffled", "labels", shuffle_labels=True),
        fault("tiny-data", "tiny-data", n_train=32, epochs=70, decay=0.99, lr=6e-3),
        fault("weight-decay", "weight-decay", weight_decay=100.0),
        fault("zero-init", "not-stepping", init="zeros", causes=("bad-init", "dead-relu", "optimizer-not-stepping")),
        fault("no-normalization", "bad-init", scale=255.0, also=("loss-diverged", "loss-noisy", "overfitting")),
        fault("nan-batch", "nan", nan=True),
        fault(
            "decays-too-early",
            "schedule-early",
            decay=0.3,
            also=("loss-plateau", "loss-flat", "loss-at-ignorance", "eval-at-chance"),
        ),
        fault("schedule-restart", "schedule-restart", restart=True),
        fault("eval-not-normalized", "val-preprocessing", eval_raw=True),
        harmless("crash", crash=True),
    ),
    train=train,
    preload=keras_setup.preload,
)

if __name__ == "__main__":
    main(BASE)
