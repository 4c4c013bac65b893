// Errors that the names in a program show before anything of the program runs: a tool that its server does not have, a server
// that this run did not load. Pure. The names were found by our own harness, and a name of nothing that we know is left to
// Python.

import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { findClosest } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { serverAliases } from '../../servers/catalog/catalog.js';
import type { NamedTool, ServerBrief, ServerDoc } from '../../wire/frames.js';

/** Most findings in one answer: so many can be fixed in one go, and the rest show up in the next run. */
const MAX_SHOWN = 4;
const MAX_LISTED_TOOLS = 10;
const MAX_ECHO_CHARS = 80;

type NameProblem = { readonly code: 'E_TOOL_UNKNOWN' | 'E_SERVER_NOT_LOADED'; readonly message: string };

/** The first things that are wrong, as one error of the agent's; undefined where nothing is. */
export function preflight(
  named: readonly NamedTool[],
  loaded: readonly ServerDoc[],
  discovered: readonly ServerBrief[],
): BridgeError | undefined {
  const docs = byWord(loaded);
  const briefs = byWord(discovered);
  const missing = new Map<string, ServerBrief>();
  const findings = named.flatMap(({ server, tool, line }): readonly NameProblem[] => {
    const doc = docs.get(server);
    if (doc !== undefined) return tool === null ? [] : unknownTool(doc, tool, line, loaded);
    const brief = briefs.get(server);
    if (brief === undefined || missing.has(brief.name)) return [];
    missing.set(brief.name, brief);
    return [notLoaded(brief, line, loaded)];
  });
  const [first] = findings;
  if (first === undefined) return undefined;
  const messages = findings.slice(0, MAX_SHOWN).map(({ message }) => message);
  if (findings.length > MAX_SHOWN) messages.push(`And ${findings.length - MAX_SHOWN} more.`);
  const remedy = `Nothing was run. ${nextStep(loaded, [...missing.values()])}`;
  return new BridgeError(first.code, messages.join(' '), { fault: 'agent', remedy });
}

function nextStep(loaded: readonly ServerDoc[], missing: readonly ServerBrief[]): string {
  if (missing.length === 0) return 'Fix the name and send the whole program again.';
  const absent = missing.filter(({ problem }) => problem === undefined);
  if (absent.length === 0) return `Go on without it; \`${ownCommand('servers')}\` tells the user more.`;
  const names = [...loaded, ...absent].map(({ name }) => name);
  const [one] = absent.filter(({ onDemand }) => onDemand);
  const inside =
    one === undefined ? '' : `, or await runtime.load_server(${JSON.stringify(one.name)}) in the code`;
  return `Pass servers=${JSON.stringify(names)} in the call${inside}.`;
}

/** Loaded servers whose names would give the alias of `server`, had it not been taken: `foo-bar` beside `foo_bar`. */
const lookalikes = (
  server: { readonly name: string; readonly alias: string },
  loaded: readonly ServerDoc[],
) =>
  loaded.filter(({ name, alias }) => {
    const plain = serverAliases([name]).get(name);
    return (
      name !== server.name &&
      alias !== server.alias &&
      plain === serverAliases([server.name]).get(server.name)
    );
  });

function unknownTool(
  server: ServerDoc,
  tool: string,
  line: number,
  loaded: readonly ServerDoc[],
): readonly NameProblem[] {
  const { name, tools } = server;
  if (tools.some((doc) => doc.alias === tool || doc.name === tool)) return [];
  const aliases = tools.map(({ alias }) => alias);
  const near = findClosest(tool, aliases);
  const other = lookalikes(server, loaded).find((one) =>
    one.tools.some((doc) => doc.alias === tool || doc.name === tool),
  );
  const advice =
    other !== undefined
      ? `Server '${shownName(other.name)}' has it: mcp_${other.alias}.`
      : near === undefined
        ? listNames(aliases)
        : `Did you mean '${echo(near)}'?`;
  const message = `Line ${line}: server '${shownName(name)}' has no tool '${echo(tool)}'. ${advice}`;
  return [{ code: 'E_TOOL_UNKNOWN', message }];
}

function listNames(aliases: readonly string[]): string {
  const more = aliases.length - MAX_LISTED_TOOLS;
  const shown = aliases.slice(0, MAX_LISTED_TOOLS).map(echo).join(', ') || 'none';
  return `It has: ${shown}${more > 0 ? ` and ${more} more` : ''}.`;
}

function notLoaded(brief: ServerBrief, line: number, loaded: readonly ServerDoc[]): NameProblem {
  const { name, alias, problem } = brief;
  const others = lookalikes(brief, loaded).map((one) => `'${shownName(one.name)}' is mcp_${one.alias}`);
  const meant =
    others.length === 0
      ? ''
      : ` mcp_${alias} is always that server; ${others.join(', ')}: write that if you mean it.`;
  const said = problem === undefined ? '.' : `: ${problem}`;
  return {
    code: 'E_SERVER_NOT_LOADED',
    message: `Line ${line}: server '${shownName(name)}' is not loaded in this run${said}${meant}`,
  };
}

/** Servers by name and by alias; no alias is the name of another server. */
const byWord = <T extends { readonly name: string; readonly alias: string }>(servers: readonly T[]) =>
  new Map(
    servers.flatMap((server): [string, T][] => [
      [server.alias, server],
      [server.name, server],
    ]),
  );

const echo = (word: string): string => shownName(word, MAX_ECHO_CHARS);
