// Servers as objects with one async method per tool. Whatever a tool is called, that is what the property means; a name
// that is no tool's throws with the closest one, but for those that Node and the language themselves ask every object for.

'use strict';

const { inspect } = require('node:util');

const ASKED_OF_ALL = new Set(['then', 'toJSON', 'constructor', 'valueOf', 'toString', 'inspect', 'nodeType']);

/** `callOf` makes the function of a tool. */
function serverProxy(server, callOf) {
  const methods = Object.create(null);
  const define = (name, tool, enumerable) => {
    if (!Object.hasOwn(methods, name))
      Object.defineProperty(methods, name, { value: callOf(tool), enumerable, configurable: true });
  };
  for (const tool of server.tools) define(tool.alias, tool, true);
  for (const tool of server.tools) define(tool.name, tool, false);
  const count = `${server.tools.length} tool${server.tools.length === 1 ? '' : 's'}`;
  return explaining(methods, `<MCP server '${server.name}', ${count}>`, (name) => server.unknown(name));
}

/** Stands for a configured server that this run did not load; once loaded, it is that. */
function missingServer(brief, loadedProxy, unknown) {
  const show = () => {
    const loaded = loadedProxy();
    return loaded === undefined ? `<MCP server '${brief.name}', not loaded>` : inspect(loaded);
  };
  const target = { [inspect.custom]: show };
  return new Proxy(target, {
    get(_, name) {
      const loaded = loadedProxy();
      if (loaded !== undefined) return loaded[name];
      if (typeof name === 'symbol' || ASKED_OF_ALL.has(name)) return undefined;
      throw unknown(brief.name);
    },
  });
}

/** `properties`, which say of a name that is not among them what `errorFor` says; printed it is `shown`. */
function explaining(properties, shown, errorFor) {
  Object.defineProperty(properties, inspect.custom, { value: () => shown });
  return new Proxy(properties, {
    get(target, name) {
      if (name in target || typeof name === 'symbol' || ASKED_OF_ALL.has(name)) return target[name];
      throw errorFor(name);
    },
  });
}

module.exports = { explaining, missingServer, serverProxy };
