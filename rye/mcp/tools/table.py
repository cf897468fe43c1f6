"""The table of tools."""

from collections.abc import Mapping

from rye.mcp.tools import load, search, verify
from rye.mcp.tools.tool import Tool

TOOLS: Mapping[str, Tool] = {
    each.name: each for each in (search.SEARCH, search.SECTIONS, load.LOAD, load.REFS, verify.TOOL)
}
"""Every tool by its name."""
