"""The table of tools."""

from collections.abc import Mapping

from rye.mcp.tools import load, search, verify
from rye.mcp.tools.tool import Tool

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (search.SEARCH, search.SECTIONS, load.LOAD, verify.TOOL)}
"""Every tool by its name."""
