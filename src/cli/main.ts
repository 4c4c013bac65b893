#!/usr/bin/env node
// Where every start begins. Hosts start the bridge by its name alone, often, and wait for it: that goes straight to `serve`.
// Whatever else was typed is read by the command line, which takes as long to load as half of `serve`.

const [word, ...words] = process.argv.slice(2);
// A person who typed the name alone is told what it is.
const isServe = words.length === 0 && (word === undefined ? !process.stdin.isTTY : word === 'serve');

if (isServe) {
  try {
    // Nothing of it is loaded for those who do not ask for it.
    const alone = process.env['MCP_BRIDGE_SHARED']
      ? await (await import('./start-relay.js')).serveShared()
      : undefined;
    await (await import('./serve.js')).serve(alone);
  } catch (thrown) {
    (await import('./failure.js')).reportFailure(thrown);
  }
} else await import('./program.js');
