// The Python bridge, mcp-server-code-execution-mode, out of a checkout that the user names: it is in no registry. It is only run, as
// its README says, with the image of the bridge in place of one that comes from a registry.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonPrograms } from './jobs.mjs';

/** The versions of its lock file. */
const PACKAGES = [
  'mcp==1.21.0',
  'anyio==4.11.0',
  'pydantic==2.12.4',
  'starlette==0.50.0',
  'toon-format==0.9.0b1',
  'packaging==25.0',
];
const PROGRAM = 'mcp_server_code_execution_mode.py';

/** @type {import('./jobs.mjs').Dialect} */
const DIALECT = {
  call: (server, tool, name, value) => `mcp_${server}.${tool}(${name}=${value})`,
  give: (value) => `print(${value})`,
};

/** @type {import('./place.mjs').Peer} */
export const pythonBridge = {
  name: 'python-bridge',
  title: 'the Python bridge',
  version: 'a checkout that --python-bridge names',
  walls: 'a container for each run, without a network; no seccomp filter of its own',
  lacks: 'take a result of a tool above 64 KB; keep variables between calls; ask a person',
  install: async (place) => {
    if (place.pythonBridge === undefined)
      throw new Error('it is in no registry: --python-bridge names a checkout');
    if (!existsSync(join(place.pythonBridge, PROGRAM)))
      throw new Error(`${place.pythonBridge} has no ${PROGRAM}`);
    await place.installFromPypi('python-bridge', PACKAGES);
  },
  open: async (place) => {
    const { stage, servers, logFile, bare, pythonBridge: checkout = '' } = place;
    const home = stage.home();
    mkdirSync(join(home, 'MCPs'));
    writeFileSync(join(home, 'MCPs/servers.json'), JSON.stringify({ mcpServers: servers }));
    const { call, definitionChars, close } = await place.openClient({
      command: place.python('python-bridge'),
      args: [join(checkout, PROGRAM)],
      cwd: home,
      env: {
        ...place.engineEnvironment(),
        HOME: home,
        XDG_DATA_HOME: stage.environment(home).XDG_DATA_HOME,
        MCP_BRIDGE_RUNTIME: bare.engine.name,
        MCP_BRIDGE_IMAGE: bare.choice.image,
      },
    });
    const programs = pythonPrograms(DIALECT, logFile);
    /** @param {string} code @param {readonly string[]} named */
    const run = (code, named) => call('run_python', { code, servers: named });
    return {
      jobs: {
        hello: () => run(programs.hello, []),
        sequence: () => run(programs.sequence, ['everything']),
        gathered: () => run(programs.gathered, ['everything']),
        filtered: () => run(programs.filtered, ['filesystem']),
      },
      definitionChars,
      close,
    };
  },
};
