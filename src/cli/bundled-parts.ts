// In the bundle, in the place of parts.ts: the same parts, from files that the bundler has written, compiled once.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hostFacts } from '../settings/files/host-facts.js';
import { stateDirFrom } from '../settings/files/state-dir.js';
import { CompiledCode } from './compiled-code.js';
import type * as Parts from './parts.js';

/** Hash of all the files, made by the bundler, in hex digits; every file ends with it. */
declare const BUILD: string;

const code = new CompiledCode({
  folder: fileURLToPath(new URL('../bundle/', import.meta.url)),
  build: BUILD,
  cache: cacheFolder(),
});

/** Undefined where this user has no home: nothing is kept then. */
function cacheFolder(): string | undefined {
  const { env } = process;
  try {
    const stateDir = stateDirFrom(env['MCP_BRIDGE_STATE_DIR']?.trim() || undefined, env, hostFacts());
    return join(stateDir, 'cache', 'code');
  } catch {
    return undefined;
  }
}

export const serving: typeof Parts.serving = async () => code.load('serve.cjs');
export const windows: typeof Parts.windows = async () => code.load('start-relay.cjs');
export const commands: typeof Parts.commands = async () => code.load('program.cjs');
export const failing: typeof Parts.failing = async () => code.load('output.cjs');
export const keepCompiled: typeof Parts.keepCompiled = () => code.keep();
