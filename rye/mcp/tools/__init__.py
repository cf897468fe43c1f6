"""The table of tools: each is a ``Tool`` in one of these files, and an entry here.

Example::

    TOOLS["rye_search"].run(work, {"query": "deploy"})
"""

from collections.abc import Mapping

from rye.mcp.tools import load, search, sign, verify
from rye.mcp.tools.tool import Tool

__all__ = ["TOOLS"]

TOOLS: Mapping[str, Tool] = {
    each.name: each for each in (search.SEARCH, search.SECTIONS, load.LOAD, load.REFS, verify.TOOL, sign.TOOL)
}
