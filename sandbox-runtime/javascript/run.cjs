// The first script of every JavaScript and TypeScript program: makes the tools and the names that a program may count on,
// puts the program's own path where its own would be, and leaves the rest to Node. A script and no `--require`, which
// every worker and every forked child would run as well. Loads nothing that the program does not need.

'use strict';

const Module = require('node:module');
const path = require('node:path');
const { defineCommonJsNames } = require('./scope.cjs');

/** Set by the harness where the descriptors of the conversation were left open. */
const CONVERSATION = 'MCP_SANDBOX_CONVERSATION';

// Started ahead, it has no words yet.
const told = process.argv.length > 2 ? undefined : require('./wait.cjs').awaitProgram();
const [given, ...args] = told?.words ?? process.argv.slice(2);
const file = path.resolve(given);
process.argv.splice(1, process.argv.length, file, ...args);
process.mainModule = undefined;
delete require.cache[__filename];

const mayCall = process.env[CONVERSATION] !== undefined || told?.known;
// What the program starts has no part in it.
delete process.env[CONVERSATION];
if (mayCall) require('./bind.cjs').bind(told);
defineCommonJsNames(file);

// On a stack of its own, so that no line of ours is in the program's traces.
if (/\.[cm]?ts$/.test(file)) process.nextTick(...require('./typescript.cjs').prepare(file));
else {
  if (file.endsWith('.js')) require('./module-type.cjs').settleType(file);
  process.nextTick(Module.runMain, file);
}
