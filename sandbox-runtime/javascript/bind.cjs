// Makes this process the one that speaks with the host: reads what the harness has left at its descriptors, and gives the
// program its names, `mcp` and an `mcp_<alias>` for each configured server, and the package `mcp` to import.

'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { setCurrent, current } = require('./binding.cjs');
const { Catalog } = require('./catalog.cjs');
const { Channel } = require('./channel.cjs');
const { allowBigIntsInJson, parse } = require('./json.cjs');
const { missingServer } = require('./proxy.cjs');

/** Where the harness leaves them: host frames in, guest frames out, and what came with the run. */
const HOST_IN = 3;
const FRAMES_OUT = 4;
const BEQUEST = 5;

/** `told` is what came with the run where it was read already: a line of JSON, and bytes that came behind. */
function bind(told) {
  const { loaded, discovered, early } =
    told === undefined ? takeBequest() : { ...parse(told.known), early: told.early };
  const catalog = new Catalog(loaded, discovered);
  setCurrent({ channel: new Channel(HOST_IN, FRAMES_OUT, early), catalog, proxies: new Map() });
  allowBigIntsInJson();
  const { publish } = require('./api.cjs');
  for (const server of catalog.servers) publish(server);
  defineNames();
  linkPackage();
}

/** A line of JSON, and behind it what was read of the host's frames and not used. */
function takeBequest() {
  const bytes = fs.readFileSync(BEQUEST);
  fs.closeSync(BEQUEST);
  const end = bytes.indexOf(10);
  return { ...parse(bytes.toString('utf8', 0, end)), early: bytes.subarray(end + 1) };
}

function defineNames() {
  const { catalog, proxies } = current();
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  define('mcp', require('./mcp/index.cjs'));
  for (const brief of catalog.discovered) {
    const loadedProxy = () => proxies.get(brief.name);
    const missing = missingServer(brief, loadedProxy, (name) => catalog.unknown(name));
    for (const bound of boundNames(brief)) define(bound, missing);
  }
  for (const server of catalog.servers)
    for (const bound of boundNames(server)) define(bound, proxies.get(server.name));
}

/** By its alias; a server that is called `class` has the alias `class_` for Python's sake, and is `mcp_class` as well. */
function boundNames({ name, alias }) {
  const word = name.toLowerCase();
  const isKeyword =
    /^[a-z]+$/.test(word) && /^_(?:_\d+)?$/.test(alias.slice(word.length)) && alias.startsWith(word);
  return isKeyword ? [`mcp_${alias}`, `mcp_${word}`] : [`mcp_${alias}`];
}

/** Where both kinds of import look; a package of the program's own keeps its place. */
function linkPackage() {
  try {
    fs.mkdirSync('node_modules', { recursive: true });
    fs.symlinkSync(path.join(__dirname, 'mcp'), path.join('node_modules', 'mcp'));
  } catch {
    // The global `mcp` is there all the same.
  }
}

module.exports = { bind };
