"""Train a small language model with the tags and the layout of the visualization guide (profile `visualization`).

python trainers/train.py                                          # runs/<date>_<number>/logs/tensorboard
python trainers/train.py --learning-rate 0.01 --run-tag lr-001    # one run per learning rate, to compare
pulseboard --logdir=runs --port=6006

This is gpt.py with other defaults: lower-case tags, a constant learning rate, and the log directory and the interval of
histograms from `configs/tensorboard.json` in the working directory. If Aim is installed, it gets the same metrics.
"""

import importlib.util

from gpt import arguments, main

from pulseboard.record.settings import load_settings

if __name__ == "__main__":
    settings, _ = load_settings()
    parser = arguments()
    parser.description = __doc__
    parser.set_defaults(
        program="train",
        tags="lower",
        constant_lr=True,
        warmup_steps=0,
        tensorboard_dir=settings.runs_dir,
        histogram_interval=settings.histogram_interval,
        report_to=["tensorboard", *(["aim"] if importlib.util.find_spec("aim") else [])],
    )
    main(parser=parser)
