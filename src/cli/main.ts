#!/usr/bin/env node
// Where every start begins. Hosts start the bridge by its name alone, often, and wait for it: that goes straight to `serve`.
// Whatever else was typed is read by the command line, which takes as long to load as half of `serve`.

import { commands, failing, keepCompiled, serving, windows } from './parts.js';

/** Long after a host has the tools; what a first call needs has been loaded as well. */
const KEEPS_AFTER_MS = 1_500;

const [word, ...words] = process.argv.slice(2);
// A person who typed the name alone is told what it is.
const isServe = words.length === 0 && (word === undefined ? !process.stdin.isTTY : word === 'serve');

/** Resolves when the program has done what it was asked for. */
export const finished: Promise<unknown> = isServe
  ? startServing()
  : commands().then((typed) => typed.finished);

async function startServing(): Promise<void> {
  setTimeout(keepCompiled, KEEPS_AFTER_MS).unref();
  process.once('exit', keepCompiled);
  try {
    // Nothing of it is loaded for those who do not ask for it.
    const alone = process.env['MCP_BRIDGE_SHARED'] ? await (await windows()).serveShared() : undefined;
    await (await serving()).serve(alone);
  } catch (thrown) {
    (await failing()).reportFailure(thrown);
  }
}
