"""What `waza init` and `waza new` write: files made of templates, all of them or none, never over others unasked."""

LANGUAGES = ("python", "node", "rust")
"""The languages that new graders are written in."""

SCENARIOS = ("repository", "cli", "mcp")
"""The kinds of scenarios: work on a repository, with an installed program, with an MCP server."""
