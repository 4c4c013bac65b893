// Python as WebAssembly in deno, as mcp-run-python has it: one interpreter for all calls, deno's permissions around it.

import { join } from 'node:path';
import { HERE, listed } from './place.mjs';

const PACKAGES = { pyodide: '314.0.7', deno: '2.9.6' };
/** The package of deno starts this one's program. */
const PROGRAMS = {
  package: `@deno/${process.platform}-${process.arch}${process.platform === 'linux' ? '-glibc' : ''}`,
  version: PACKAGES.deno,
};

/** @type {import('./place.mjs').Peer} */
export const pyodide = {
  name: 'pyodide',
  title: 'Pyodide in deno',
  version: `${listed(PACKAGES)}; one interpreter, as mcp-run-python has it`,
  walls: "WebAssembly and deno's permissions; all calls share one interpreter",
  lacks: 'call tools from the code; keep runs apart; use libraries that are not built for WebAssembly',
  install: (place) => place.installFromNpm('pyodide', { ...PACKAGES, [PROGRAMS.package]: PROGRAMS.version }),
  open: async (place) => {
    const folder = join(place.folder('pyodide'), 'node_modules');
    const permissions = [`--allow-read=${folder}`, '--no-prompt', '--no-lock', '--no-config', '--no-remote'];
    const { ask, definitionChars, close } = await place.openLines(
      join(folder, PROGRAMS.package, 'deno'),
      ['run', ...permissions, join(HERE, 'pyodide-lines.mjs'), join(folder, 'pyodide/')],
      { ...process.env, DENO_DIR: join(folder, '../deno') },
    );
    return { jobs: { hello: () => ask('print("hello")') }, definitionChars, close };
  },
};
