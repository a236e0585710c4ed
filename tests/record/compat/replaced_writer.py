"""A pytest plugin for suites.py: with SUITE_WRITER=pulseboard, the writers of torch and tensorboardX are ours."""

import os

import tensorboardX
import torch.utils.tensorboard

import pulseboard

if os.environ.get("SUITE_WRITER") == "pulseboard":
    tensorboardX.SummaryWriter = pulseboard.SummaryWriter
    torch.utils.tensorboard.SummaryWriter = pulseboard.SummaryWriter
