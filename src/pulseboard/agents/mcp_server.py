"""The MCP server: the answers as read-only tools for the user's agent."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pulseboard.agents.answers import MAX_WAIT_SECS, Answers
from pulseboard.core.errors import MissingPackage, PulseboardError
from pulseboard.read.runs import Runs

if TYPE_CHECKING:
    from mcp.server import MCPServer

Tool = TypeVar("Tool", bound=Callable[..., Any])

INSTRUCTIONS = """Pulseboard reads machine-learning training logs and diagnoses them. Start with overview, then why(run)
for a run that is not healthy; it names the finding, the likely cause, the next check and fixes. curve gives numbers,
compare two runs, explain the page about a finding, wait blocks until something happens. Nothing is ever changed."""


def mcp_server(runs: Runs, *, version: str) -> MCPServer[Any]:
    """A server with one tool per kind of answer. Raises MissingPackage without the package `mcp`."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise MissingPackage("The MCP server", package="mcp", extra="mcp") from error
    import anyio.to_thread

    answers = Answers(runs)
    server: MCPServer[Any] = MCPServer("pulseboard", instructions=INSTRUCTIONS, version=version, log_level="WARNING")
    lock = anyio.Lock()

    def tool(answer: Callable[..., str]) -> None:
        """Offer a function as a tool. Text only: a structured copy would double every answer."""

        @functools.wraps(answer)
        async def call(**given: Any) -> str:
            try:
                if answer.__name__ == "wait":  # others must not wait with it
                    return await anyio.to_thread.run_sync(lambda: answer(**given), abandon_on_cancel=True)
                async with lock:
                    return await anyio.to_thread.run_sync(lambda: answer(**given))
            except (PulseboardError, OSError) as error:
                raise ToolError(str(error)) from None

        annotations = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        server.tool(annotations=annotations, structured_output=False)(call)

    def overview(match: str = "", rows: int = 100) -> str:
        """One line per run, worst first: name, status, last step, finding, likely cause. match: regular expression."""
        return answers.overview(match=match, rows=rows)

    def why(run: str) -> str:
        """What is wrong with a run: finding, evidence, likely cause, next check, fixes."""
        return answers.why(run)

    def curve(
        runs: list[str], tag: str, from_step: int | None = None, to_step: int | None = None, rows: int = 20
    ) -> str:
        """Values of a tag by step, averaged to `rows` rows per run."""
        return answers.curve(runs, tag, first=from_step, last=to_step, rows=rows)

    def compare(a: str, b: str) -> str:
        """Two runs: verdicts, last and best values (b minus a), settings that differ."""
        return answers.compare(a, b)

    def explain(slug: str) -> str:
        """The page about a finding, such as loss-spike: what it sees, what to check, what to try."""
        return answers.explain(slug)

    def wait(until: str, secs: float = 60, run: str = "") -> str:
        return answers.wait(until, secs, run=run)

    wait.__doc__ = (
        "Block until a condition is met, up to `secs` seconds "
        f"(at most {MAX_WAIT_SECS:g}): finding, finding=SLUG, finding=critical, step=N, TAG<VALUE, end."
    )

    def guide(run: str) -> str:
        """The training guide that fits a run, filled in with its values."""
        return answers.guide(run)

    for answer in (overview, why, curve, compare, explain, wait, guide):
        tool(answer)
    return server
