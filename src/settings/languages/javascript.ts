// JavaScript and TypeScript: both are started by a script of ours, sandbox-runtime/javascript/run.cjs, which leaves to
// Node what Node can do. It knows which kind of module a file is where Node is too old to look, and has TypeScript made into
// JavaScript by esbuild, where the image has it.

import type { Language } from './language.js';

const RUN = '{harness}/javascript/run.cjs';

export const javascript: Language = {
  name: 'javascript',
  title: 'JavaScript',
  aliases: ['js', 'node', 'nodejs'],
  extensions: ['.js', '.mjs', '.cjs'],
  file: 'main.js',
  profile: 'javascript',
  ways: [{ needs: ['node'], steps: [['node', RUN, '{file}', '{args}']] }],
  ahead: [],
  // So that what grows too large says "JavaScript heap out of memory" instead of being killed. Left alone, Node takes half
  // of a control group's memory at most, and where there is none it knows no limit but the machine's.
  env: { NODE_OPTIONS: '--max-old-space-size={heapMb}' },
  places: [],
  limits: {},
  tools: 'javascript',
};

export const typescript: Language = {
  ...javascript,
  name: 'typescript',
  title: 'TypeScript',
  aliases: ['ts'],
  extensions: ['.ts', '.mts', '.cts'],
  file: 'main.ts',
  // Traces name the lines of what was sent.
  ways: [{ needs: ['node'], steps: [['node', '--enable-source-maps', RUN, '{file}', '{args}']] }],
};
