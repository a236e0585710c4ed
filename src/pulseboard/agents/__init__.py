"""agents: runs in, short plain answers out, for scripts, CI and the user's agents.

Comparisons, the latest rows, waiting for something to happen, the gate, and the MCP server. It reads and diagnoses;
it never writes into a log directory.
"""
