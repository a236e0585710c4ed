"""Completion scripts for bash, zsh and fish, made from the parser, so that every command and option is in them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One option of a command, or one of its arguments if it has no flags."""

    flags: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True)
class Command:
    """What can follow the name of a command."""

    name: str
    help: str
    options: tuple[Option, ...]

    @property
    def flags(self) -> list[str]:
        """All flags, in the order of the help."""
        return [flag for option in self.options for flag in option.flags]


def command_words(parser: argparse.ArgumentParser) -> list[Command]:
    """The commands of a parser. The first has no name and stands for what follows `pulseboard` itself."""
    made = [Command("", "", _options(parser, top=True))]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            subparsers: Mapping[str, argparse.ArgumentParser] = action.choices
            made += [Command(name, helps.get(name, ""), _options(one)) for name, one in subparsers.items()]
    return made


def _options(parser: argparse.ArgumentParser, *, top: bool = False) -> tuple[Option, ...]:
    """The options and arguments of a parser. Those of commands within a command are added to it."""
    found: dict[tuple[str, ...], Option] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            if top:
                continue
            found[()] = Option((), action.help or "", tuple(action.choices), takes_value=True)
            for inner in action.choices.values():
                found |= {one.flags: one for one in _options(inner) if one.flags and one.flags not in found}
        elif action.help != argparse.SUPPRESS and (action.option_strings or action.choices):
            flags = tuple(action.option_strings)
            choices = tuple(map(str, action.choices or ()))
            found[flags] = Option(flags, (action.help or "").replace("%%", "%"), choices, takes_value=action.nargs != 0)
    return tuple(found.values())


def bash(commands: list[Command]) -> str:
    """The script for bash."""
    top, *named = commands
    names = " ".join(command.name for command in named)
    lines = [
        "# bash completion for pulseboard",
        "_pulseboard() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"',
        "    local options=() choices=() files=1",
        "    if [ $COMP_CWORD -eq 1 ]; then",
        f"        choices=({names}); options=({' '.join(top.flags)})",
        "    else",
        '        case "$command" in',
        *(f"            {command.name}) {_bash_choices(command)};;" for command in named),
        "        esac",
        "    fi",
        '    case "$command $previous" in',
        *(
            f"        '{command.name} {flag}') options=(); files=; choices=({' '.join(option.choices)});;"
            for command in named
            for option in command.options
            for flag in option.flags
            if option.choices
        ),
        "    esac",
        '    if [[ "$word" == -* ]]; then choices=("${options[@]}"); fi',
        '    COMPREPLY=($(compgen -W "${choices[*]}" -- "$word"))',
        '    if [[ -n "$files" && "$word" != -* ]]; then COMPREPLY+=($(compgen -f -- "$word")); fi',
        "}",
        "complete -o filenames -F _pulseboard pulseboard",
    ]
    return "\n".join(lines) + "\n"


def _bash_choices(command: Command) -> str:
    positional = [choice for option in command.options if not option.flags for choice in option.choices]
    return f"options=({' '.join(command.flags)}); choices=({' '.join(positional)})"


def zsh(commands: list[Command]) -> str:
    """The script for zsh."""
    _, *named = commands
    lines = [
        "#compdef pulseboard",
        "_pulseboard() {",
        "    local -a commands",
        "    commands=(",
        *(f"        {shlex.quote(f'{command.name}:{command.help}')}" for command in named),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        _files",
        "        return",
        "    fi",
        '    case "$words[2]" in',
        *(f"        {command.name}) _arguments {_zsh_arguments(command)} '*:path:_files';;" for command in named),
        "        *) _files;;",
        "    esac",
        "}",
        # Sourced, it registers itself; in a directory of $fpath, zsh calls it.
        'if [ "$funcstack[1]" = "_pulseboard" ]; then _pulseboard "$@"; else compdef _pulseboard pulseboard; fi',
    ]
    return "\n".join(lines) + "\n"


def _zsh_arguments(command: Command) -> str:
    specs = []
    for option in command.options:
        text = option.help.replace("[", "(").replace("]", ")").replace(":", " ")
        value = (
            (f":value:({' '.join(option.choices)})" if option.choices else ":value:_files")
            if option.takes_value
            else ""
        )
        specs += [f"{flag}[{text}]{value}" for flag in option.flags]
        if not option.flags and option.choices:
            specs.append(f"1:value:({' '.join(option.choices)})")
    return " ".join(map(shlex.quote, specs))


def fish(commands: list[Command]) -> str:
    """The script for fish."""
    top, *named = commands
    lines = ["# fish completion for pulseboard"]
    for command in named:
        lines.append(
            f"complete -c pulseboard -n __fish_use_subcommand -a {command.name} -d {_fish_quote(command.help)}"
        )
    lines += [_fish_option("__fish_use_subcommand", option) for option in top.options if option.flags]
    for command in named:
        condition = f"'__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            if option.flags:
                lines.append(_fish_option(condition, option))
            elif option.choices:
                lines.append(f"complete -c pulseboard -n {condition} -f -a {_fish_quote(' '.join(option.choices))}")
    return "\n".join(lines) + "\n"


def _fish_option(condition: str, option: Option) -> str:
    flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    value = (
        (f" -x -a {_fish_quote(' '.join(option.choices))}" if option.choices else " -r") if option.takes_value else ""
    )
    return f"complete -c pulseboard -n {condition} {flags}{value} -d {_fish_quote(option.help)}"


def _fish_quote(text: str) -> str:
    # In fish's single quotes a backslash escapes only itself and the quote.
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
