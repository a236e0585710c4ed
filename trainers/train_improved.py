"""Train a GPT-2-style model with the flags, tags and intervals of the monitoring guide (profile `gpt`).

python trainers/train_improved.py --use_tensorboard
python trainers/train_improved.py --use_tensorboard --run_name "gpt2_lr1e-3_bs32"
torchrun --standalone --nproc_per_node=4 trainers/train_improved.py --use_tensorboard
pulseboard --logdir=runs --bind_all

This is gpt.py with other defaults: nothing is logged without --use_tensorboard, evaluations and checkpoints every 250
steps, histograms every 1000, the number of the epoch, and a dozen questions of our own instead of HellaSwag's
(--hellaswag FILE for the real ones).
"""

from pathlib import Path

from gpt import arguments, main

if __name__ == "__main__":
    parser = arguments()
    parser.description = __doc__
    parser.set_defaults(
        program="train_improved",
        use_tensorboard=False,
        eval_freq=250,
        checkpoint_freq=250,
        histogram_interval=1000,
        whole_epochs=True,
        hellaswag=str(Path(__file__).parent / "data" / "common_sense.jsonl"),
    )
    main(parser=parser)
