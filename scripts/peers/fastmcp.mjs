// FastMCP's CodeMode in front of the two servers: an MCP server in Python, which runs code in Monty.

import { join } from 'node:path';
import { pythonPrograms } from './jobs.mjs';
import { HERE } from './place.mjs';

const PACKAGES = ['fastmcp[code-mode]==4.2.3', 'pydantic-monty==1.4.0'];

/** @type {import('./jobs.mjs').Dialect} */
const DIALECT = {
  call: (server, tool, name, value) => `call_tool("${server}_${tool}", {"${name}": ${value}})`,
  give: (value) => `return ${value}`,
};

/** @type {import('./place.mjs').Peer} */
export const fastmcp = {
  name: 'fastmcp',
  title: 'FastMCP CodeMode',
  version: `${PACKAGES.join(', ')}; clients that stay connected, its limit of 50 calls lifted`,
  walls: 'the Monty interpreter, in a process of its own, without system calls',
  lacks: 'run CPython: Monty is a part of Python, without libraries',
  install: (place) => place.installFromPypi('fastmcp', PACKAGES),
  open: async (place) => {
    const { call, definitionChars, close } = await place.openClient({
      command: place.python('fastmcp'),
      args: [join(HERE, 'fastmcp_server.py'), JSON.stringify(place.servers)],
    });
    const programs = pythonPrograms(DIALECT, place.logFile);
    /** @param {string} code */
    const run = (code) => call('execute', { code });
    return {
      jobs: {
        hello: () => run(programs.hello),
        sequence: () => run(programs.sequence),
        gathered: () => run(programs.gathered),
        filtered: () => run(programs.filtered),
      },
      definitionChars,
      close,
    };
  },
};
