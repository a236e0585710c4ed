"""Keras' demo of its functional API (demo_functional.py, Apache-2.0) with fewer epochs, on its torch backend."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
from keras import Model, layers, losses, metrics, optimizers

inputs = layers.Input((100,), batch_size=32)
x = layers.Dense(256, activation="relu")(inputs)
residual = x
x = layers.Dense(256, activation="relu")(x)
x = layers.Dense(256, activation="relu")(x)
x += residual
x = layers.Dense(256, activation="relu")(x)
outputs = layers.Dense(16)(x)
model = Model(inputs, outputs)
x, y = np.random.uniform(size=(1280, 100)), np.random.uniform(size=(1280, 16))
model.compile(
    loss=losses.MeanSquaredError(), optimizer=optimizers.Adam(learning_rate=0.001), metrics=[metrics.MeanSquaredError()]
)
model.fit(x, y, batch_size=32, epochs=12, validation_split=0.2, verbose=2)
