// Servers and tools as the host described them. Plain data and look-ups; calls nothing.

'use strict';

const { UnknownServerError, UnknownToolError, didYouMean, shownName, someOf } = require('./errors.cjs');

/** A loaded server, whole; each tool knows its server's real name. */
class Server {
  constructor(doc) {
    const { name, alias, description, version, instructions, tools } = doc;
    Object.assign(this, { name, alias, description, version, instructions });
    this.tools = tools.map((tool) => ({ ...tool, server: name }));
    this.byName = new Map(this.tools.map((tool) => [tool.name, tool]));
    this.byAlias = new Map(this.tools.map((tool) => [tool.alias, tool]));
  }

  /** A tool by real name, else by alias; throws UnknownToolError. */
  tool(word) {
    const found = this.byName.get(word) ?? this.byAlias.get(word);
    if (found === undefined) throw this.unknown(word);
    return found;
  }

  unknown(word) {
    const hint = didYouMean(word, [...this.byAlias.keys(), ...this.byName.keys()]);
    const text = `Server '${shownName(this.name)}' has no tool '${shownName(String(word))}'.${hint} Its tools: ${someOf(this.byAlias.keys())}`;
    return new UnknownToolError(this.name, word, text, 'E_TOOL_UNKNOWN');
  }
}

/** The loaded servers, and what else the user has configured. */
class Catalog {
  constructor(loaded, discovered) {
    this.servers = [];
    this.discovered = discovered;
    for (const doc of loaded) this.add(doc);
  }

  /** One more loaded server. */
  add(doc) {
    const server = new Server(doc);
    this.servers.push(server);
    this.discovered = this.discovered.map((brief) =>
      brief.name === server.name ? { ...brief, loaded: true } : brief,
    );
    return server;
  }

  /** A loaded server by name, else by alias. */
  find(word) {
    return this.servers.find(({ name }) => name === word) ?? this.servers.find(({ alias }) => alias === word);
  }

  /** The same; throws UnknownServerError. */
  server(word) {
    const found = this.find(word);
    if (found === undefined) throw this.unknown(word);
    return found;
  }

  /** A configured server, loaded or not. */
  brief(word) {
    return this.discovered.find(({ name, alias }) => name === word || alias === word);
  }

  /** The error for a server that is not loaded: how to load it, or what there is instead. */
  unknown(word) {
    const brief = this.brief(word);
    const what = `Server '${shownName(String(word))}' is not available`;
    if (brief?.problem !== undefined)
      return new UnknownServerError(word, null, `${what}: ${brief.problem}`, 'E_SERVER_UNAVAILABLE');
    if (brief !== undefined)
      return new UnknownServerError(word, null, `${what}. ${howToLoad(brief)}`, 'E_SERVER_NOT_LOADED');
    const names = this.discovered.map(({ name }) => name);
    const others =
      names.length === 0 ? 'No MCP server is configured.' : `Configured servers: ${someOf(names)}.`;
    const text = `${what}.${didYouMean(word, names)} ${others}`;
    return new UnknownServerError(word, null, text, 'E_SERVER_UNKNOWN');
  }
}

/** The sentence that says how a run gets a server, also where its code may ask for it itself. */
function howToLoad({ name, onDemand }) {
  const inside = onDemand ? `, or await mcp.loadServer('${name}')` : '';
  return `To load it, pass servers=["${name}"] in the call${inside}.`;
}

module.exports = { Catalog, Server, howToLoad };
