"""Print a script that completes commands, options and paths in your shell.

source <(pulseboard completion bash)                                    now, in this shell; put it in ~/.bashrc
pulseboard completion zsh > "${fpath[1]}/_pulseboard"                   zsh
pulseboard completion fish > ~/.config/fish/completions/pulseboard.fish fish
"""

from __future__ import annotations

import argparse

from pulseboard.cli import shells


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=sorted(shells.SHELLS), help="the shell that the script is for")


def run(args: argparse.Namespace) -> None:
    from pulseboard.cli.main import full_parser

    print(shells.SHELLS[args.shell](shells.command_words(full_parser())), end="")
