// What a program can ask about servers and tools, and the way to call them by name. Loaded servers are answered from what
// came with the run; for others the host is asked, which may refuse.

'use strict';

const { current } = require('./binding.cjs');
const call = require('./call.cjs');
const { howToLoad } = require('./catalog.cjs');
const { docsOf } = require('./docs.cjs');
const { explaining, serverProxy } = require('./proxy.cjs');

/** What the host gives at once. */
const MAX_FOUND = 100;

/** Calls a tool by real name or alias; the value as `await mcp_<alias>.<tool>({...})` gives it. */
async function callTool(server, tool, given, options) {
  const found = current().catalog.server(server).tool(tool);
  return call.callOf(found)(call.checked('callTool', given), options);
}

/** The tool's whole CallToolResult; nothing is checked, and `isError` does not throw. */
async function callToolRaw(server, tool, given, options) {
  const found = current().catalog.server(server).tool(tool);
  return call.callRaw(found, call.checked('callToolRaw', given), options);
}

/** Names of the loaded servers. */
const listServers = () => current().catalog.servers.map(({ name }) => name);

/** Every configured server, loaded or not: {name, alias, description, loaded, tools}. */
const discoveredServers = () => current().catalog.discovered.map((brief) => ({ ...brief }));

/** The names of a server's tools as properties; of one that is not loaded, those that it had when last started. */
const listTools = async (server) => (await toolsOf(server, 'tools.list')).map(({ alias }) => alias);

/** Documentation of one tool or of all: {server, tool, signature, description}; with {detail: 'full'} schemas too. */
async function queryToolDocs(server, tool = null, { detail = 'summary' } = {}) {
  const { catalog } = current();
  const brief = briefOf(server);
  const loaded = catalog.find(server);
  const tools = loaded && tool !== null ? [loaded.tool(tool)] : await toolsOf(server, 'docs.get', tool);
  return docsOf(
    tools.map((found) => ({ brief, tool: found })),
    detail,
  );
}

/** The tools of all known servers that fit the words best, loaded or not. */
async function searchToolDocs(query, { limit = 5, detail = 'summary' } = {}) {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_FOUND)
    throw new RangeError(`limit is ${limit}; it can be 1 to ${MAX_FOUND}`);
  const hits = await current().channel.request('docs.search', { query: String(query), limit });
  return docsOf(
    hits.map(({ server, alias, loaded, tool, score }) => ({
      brief: { ...current().catalog.brief(server), name: server, alias, loaded },
      tool,
      score,
    })),
    detail,
  );
}

/** A server by name or alias: its description and the lines of its tools, and how to load it where it is not loaded. */
async function describeServer(server) {
  const brief = briefOf(server);
  const { version, instructions } = current().catalog.find(server) ?? {};
  const isKnown = brief.loaded || brief.tools !== null;
  const tools = isKnown ? await queryToolDocs(server) : null;
  return { ...brief, version, instructions, ...(brief.loaded ? {} : { load: howToLoad(brief) }), tools };
}

/** Loads one more server for the rest of this run, where the user allows it; gives mcp_<alias>. */
async function loadServer(server) {
  const { channel, catalog, proxies } = current();
  const brief = briefOf(server);
  if (catalog.find(brief.name) === undefined) {
    const doc = await channel.request('servers.load', { server: brief.name });
    // Asked for twice at once, it comes twice.
    if (catalog.find(brief.name) === undefined) publish(catalog.add(doc));
  }
  return proxies.get(brief.name);
}

const published = Object.create(null);

/** The loaded servers, by alias or name. */
const servers = explaining(published, '<MCP servers>', (name) => current().catalog.unknown(name));

/** From now on a server is where programs look for it. */
function publish(server) {
  const value = serverProxy(server, call.callOf);
  current().proxies.set(server.name, value);
  Object.defineProperty(published, server.name, { value, configurable: true });
  Object.defineProperty(published, server.alias, { value, enumerable: true, configurable: true });
}

/** What is known of a configured server; throws UnknownServerError. */
function briefOf(server) {
  const { catalog } = current();
  const loaded = catalog.find(server);
  const brief = catalog.brief(loaded?.name ?? server);
  if (brief !== undefined) return loaded === undefined ? brief : { ...brief, loaded: true };
  if (loaded === undefined) throw catalog.unknown(server);
  const { name, alias, description, tools } = loaded;
  return { name, alias, description, loaded: true, tools: tools.length };
}

async function toolsOf(server, method, tool = null) {
  const { channel, catalog } = current();
  const loaded = catalog.find(server);
  if (loaded !== undefined) return loaded.tools;
  const { name } = briefOf(server);
  return channel.request(method, method === 'docs.get' ? { server: name, tool } : { server: name });
}

module.exports = {
  callTool,
  callToolRaw,
  describeServer,
  discoveredServers,
  listServers,
  listTools,
  loadServer,
  publish,
  queryToolDocs,
  searchToolDocs,
  servers,
};
