"""FastMCP's CodeMode in front of the servers of argv[1], a JSON object as in a host's mcpServers.

Each server is mounted by a client that stays connected: a proxy made of the configuration alone starts the
server anew for each call.
The limit of 50 calls for one run is lifted, since a job has a hundred.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from fastmcp import Client, FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy


async def serve(servers):
    front = FastMCP("peers", transforms=[CodeMode(max_tool_calls=None)])
    async with AsyncExitStack() as stack:
        for name, server in servers.items():
            client = await stack.enter_async_context(Client({"mcpServers": {name: server}}))
            front.mount(create_proxy(client), namespace=name)
        await front.run_async(transport="stdio", show_banner=False)


asyncio.run(serve(json.loads(sys.argv[1])))
