#!/usr/bin/env bash
# What `make demo` shows: three small trainings, and what Pulseboard makes of their logs.
set -euo pipefail
bin=$1
runs=demo_runs
rm -rf "$runs"

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
show() { say pulseboard "$@"; "$bin/pulseboard" "$@"; }

echo "Training a small network three times: healthy, with a learning rate far too high, and killed and resumed."
"$bin/python" trainers/spirals.py "$runs/healthy"
"$bin/python" trainers/spirals.py "$runs/too_fast" --learning-rate 40 --steps 400
"$bin/python" trainers/spirals.py "$runs/resumed" --dies-at 700

show ls "$runs"
show show "$runs"
show show "$runs" -r healthy -t train/loss --chart --log
show export "$runs" -o "$runs/all.csv"
printf '\nThe logs are in %s/. Try: %s/pulseboard --help\n' "$runs" "$bin"
