"""Serve runs to an agent over the Model Context Protocol (MCP): read-only tools with short plain answers.

Tools: overview, why, curve, compare, explain, wait, guide. By default it speaks over standard input and output, the
way a client starts it; --port serves HTTP on this machine instead. Needs: pip install "pulseboard[mcp]".

  pulseboard mcp runs/                     over standard input and output
  pulseboard mcp runs/ --port 8100         over HTTP, at http://127.0.0.1:8100/mcp
  claude mcp add pulseboard -- pulseboard mcp runs/

`pulseboard skill` teaches an agent the same through this command line, without a server.
"""

from __future__ import annotations

import argparse
import sys

import pulseboard
from pulseboard.cli.commands.view.serve import port_number
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.runs import Runs

_HOST = "127.0.0.1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="log directory, log file, URL, pattern, or name:path")
    parser.add_argument("--port", type=port_number, help="serve HTTP at this port of this machine instead of stdio")


def run(args: argparse.Namespace) -> int:
    from pulseboard.agents.mcp_server import mcp_server

    # A log directory may come later: the client starts the server before the first training.
    runs = Runs(log_directories_from(args.paths, may_be_missing=True))
    server = mcp_server(runs, version=pulseboard.__version__)
    runs.refresh()
    if args.port is None:
        server.run("stdio")
    else:
        print(f"Serving MCP at http://{_HOST}:{args.port}/mcp  (Ctrl-C to stop)", file=sys.stderr, flush=True)
        server.run("streamable-http", host=_HOST, port=args.port)
    return 0
