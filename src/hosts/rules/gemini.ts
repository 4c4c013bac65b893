// Gemini CLI's rules: `trust`, tools that are excluded for all servers, tools allowed for certain arguments only, and the
// user's policies.

import { isRecord, textsOf } from '../../base/json/records.js';
import { HOME as GEMINI_HOME } from '../records/gemini-cli.js';
import { type DeniedTool, matchesGlob, type ReadRules, type RulesContext } from './rules.js';

const HOST = 'Gemini CLI';

export const geminiRules: ReadRules = (context) => {
  const { server, entry, own } = context;
  const leave = (reason: string) => ({ leave: reason, denied: [] });
  if (textsOf(entry['includeTools']).some((tool) => tool.includes('(')))
    return leave("'includeTools' allows a tool for certain arguments only, which cannot be kept here");
  const policies = policiesFor(context);
  const policy = policies.find(({ server: named, decision }) => named === server && decision !== 'allow');
  if (policy !== undefined) return leave(`${policy.file} has a rule for it`);
  const unasked = listsIn(context, 'allowed', 'allowedTools').map(({ name }) => name);
  const isFree = (name: string) =>
    policies.some((one) => one.server === name && one.decision === 'allow') ||
    unasked.some((tool) => prefixesOf(name).some((prefix) => tool.startsWith(prefix)));
  const isOwnFree = own.entry['trust'] === true || isFree(own.name);
  if (isOwnFree && entry['trust'] !== true && !isFree(server))
    return leave(`${HOST} asks before its tools, and trusts the bridge to run without asking`);
  const excluded = listsIn(context, 'exclude', 'excludeTools');
  const denied: DeniedTool[] = [];
  for (const { name, file } of excluded) {
    const prefix = prefixesOf(server).find((one) => name.startsWith(one));
    const tool = prefix === undefined ? name : name.slice(prefix.length);
    if (tool.includes('*')) {
      if (prefix !== undefined || matchesGlob(name, `mcp_${server}_some_tool`))
        return leave(`the list of excluded tools in ${file} has ${name}`);
    } else denied.push({ tool, why: `excluded in ${file}` });
  }
  return { denied };
};

/** How a tool of a server is spelled in lists for all. */
const prefixesOf = (server: string): string[] => [`mcp_${server}_`, `mcp__${server}__`, `${server}__`];

/** Names in `tools.NAME`, and where that was kept once. */
function listsIn({ read }: RulesContext, name: string, once: string) {
  return read(`${GEMINI_HOME}/settings.json`).flatMap(({ file, value }) => {
    const settings = isRecord(value) ? value : {};
    const tools = isRecord(settings['tools']) ? settings['tools'] : {};
    const lists = [settings[once], tools[name]].flatMap(textsOf);
    return lists.map((written) => ({ name: written.replace(/\(.*$/s, ''), file }));
  });
}

type Policy = { readonly file: string; readonly server: string; readonly decision: unknown };

function policiesFor({ read, server, own }: RulesContext): Policy[] {
  return read(`${GEMINI_HOME}/policies/*.toml`).flatMap(({ file, value }) => {
    const rules = isRecord(value) && Array.isArray(value['rule']) ? (value['rule'] as unknown[]) : [];
    return rules.flatMap((rule) =>
      [server, own.name].flatMap((name) =>
        isFor(rule, name) ? [{ file, server: name, decision: Object(rule).decision }] : [],
      ),
    );
  });
}

function isFor(rule: unknown, server: string): boolean {
  if (!isRecord(rule)) return false;
  const { mcpName, toolName } = rule;
  const tools = Array.isArray(toolName) ? textsOf(toolName) : textsOf([toolName]);
  const named = tools.some((tool) =>
    prefixesOf(server).some(
      (prefix) => tool.startsWith(prefix) || (tool.includes('*') && matchesGlob(tool, `${prefix}some_tool`)),
    ),
  );
  return mcpName === server || mcpName === '*' || named;
}
