"""The table of tools: a further one is a file with a ``TOOL`` in it, and its entry here.

Example::

    TOOLS["rye_search"].run(work, {"query": "deploy"}).text
"""

from collections.abc import Mapping

from rye.mcp.tools import load, refs, search, sections, sign, verify
from rye.mcp.tools.tool import Tool

__all__ = ["TOOLS"]

TOOLS: Mapping[str, Tool] = {
    each.name: each for each in (search.TOOL, sections.TOOL, load.TOOL, refs.TOOL, verify.TOOL, sign.TOOL)
}
