"""No instrument waits for a device: on the meta device there are no values, and reading one raises."""

import pytest
import torch

from pulseboard.instruments import (
    Clipping,
    Convergence,
    EpochLoss,
    Stability,
    collapse,
    ema,
    evaluation,
    hierarchical_losses,
    hierarchy,
    loss_by_noise,
    masking,
    moe,
    prediction,
)

LOSS = torch.empty((), device="meta")
FEATURES = torch.empty(4, 6, 8, device="meta", dtype=torch.bfloat16)


def stateful(measure):
    """Call three times, as in three steps."""

    def calls():
        return [measure() for _ in range(3)][-1]

    return calls


clipping, convergence, stability, epoch = Clipping(1.0), Convergence(), Stability(window_steps=2), EpochLoss()
CALLS = {
    "clipping": stateful(lambda: clipping(LOSS)),
    "collapse": lambda: collapse(FEATURES, level=0, max_rows=5),
    "convergence": stateful(lambda: convergence([LOSS, LOSS])),
    "ema": lambda: ema([FEATURES, LOSS], [FEATURES, LOSS], momentum=1.0),
    "epoch loss": stateful(lambda: epoch(LOSS)),
    "evaluation": lambda: evaluation(LOSS),
    "hierarchical losses": lambda: hierarchical_losses([LOSS, LOSS], weights=[1.0, 0.5]),
    "hierarchy": lambda: hierarchy(FEATURES, level=0),
    "loss by noise": lambda: loss_by_noise(FEATURES.reshape(-1), FEATURES.reshape(-1)),
    "masking": lambda: masking(FEATURES[..., 0] > 0),
    "moe": lambda: moe([FEATURES, FEATURES], top_k=2),
    "prediction": lambda: prediction(FEATURES, FEATURES, level=0),
    "stability": stateful(lambda: stability(LOSS, validation_loss=LOSS)),
}


@pytest.mark.parametrize("call", CALLS)
def test_results_stay_on_the_device(call):
    found = {tag: value for tag, value in CALLS[call]().items() if not isinstance(value, int | float)}
    assert found
    for tag, value in found.items():
        assert value.device.type == "meta", tag
        assert value.shape == (), tag


def test_reading_a_value_from_the_meta_device_raises():
    with pytest.raises(RuntimeError):
        LOSS.item()
    with pytest.raises(RuntimeError):
        bool(LOSS > 0)
