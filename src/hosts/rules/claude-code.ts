// Claude Code's rules for single servers and tools: permissions and hooks, in the user's, the administrator's and every
// known project's settings. A rule of a project that denies or asks counts everywhere, since a moved server is one for all.

import { isRecord, textsOf } from '../../base/json/records.js';
import { CLAUDE_SETTINGS } from '../records/claude-code.js';
import {
  asked,
  type HostRules,
  matchesGlob,
  onlyUnasked,
  type ReadRules,
  type RulesContext,
} from './rules.js';

const HOST = 'Claude Code';
const MANAGED = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
  'C:/Program Files/ClaudeCode/managed-settings.json',
];

/** The meaning of a permission rule for a server: all of it, one tool, or tools by a pattern. */
type Meant =
  | { readonly kind: 'server' }
  | { readonly kind: 'tool'; readonly tool: string }
  | { readonly kind: 'pattern' };

export const claudeCodeRules: ReadRules = (context) => {
  const { server, own } = context;
  const settings = settingsOf(context);
  const ownTool = `mcp__${own.name}__run_python`;
  const rules = (list: 'allow' | 'ask' | 'deny') =>
    settings.flatMap(({ file, value }) =>
      textsOf(memberOf(memberOf(value, 'permissions'), list)).map((rule) => ({ rule, file })),
    );
  const denied: HostRules['denied'][number][] = [];
  for (const list of ['deny', 'ask'] as const) {
    for (const { rule, file } of rules(list)) {
      const meant = meaningFor(server, rule);
      const where = `permissions.${list} in ${file}`;
      if (meant === undefined || covers(rule, own.name, ownTool)) continue;
      if (meant.kind === 'tool')
        denied.push({ tool: meant.tool, why: list === 'deny' ? `denied by ${where}` : asked(HOST) });
      else return { leave: `${where} has the rule ${rule}`, denied: [] };
    }
  }
  const hook = settings.find(({ value }) => hasHookFor(value, server, ownTool));
  if (hook !== undefined) return { leave: `a hook in ${hook.file} looks at its calls`, denied: [] };
  const allowed = rules('allow');
  const isOwnFree = allowed.some(({ rule }) => covers(rule, own.name, ownTool));
  const meant = allowed.flatMap(({ rule }) => meaningFor(server, rule) ?? []);
  if (!isOwnFree || meant.some(({ kind }) => kind === 'server')) return { denied };
  const tools = meant.flatMap((one) => (one.kind === 'tool' ? [one.tool] : []));
  return {
    ...onlyUnasked(HOST, tools, `${HOST} asks before its tools, and is set to run ${ownTool} without asking`),
    denied,
  };
};

/** Settings of the user and the administrator, and of each project that Claude Code knows. */
function settingsOf({ read }: RulesContext): ReturnType<RulesContext['read']> {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way
  const projects = read('${CLAUDE_CONFIG_DIR:-~}/.claude.json').flatMap(({ value }) => {
    const known = memberOf(value, 'projects');
    return isRecord(known) ? Object.keys(known) : [];
  });
  const ofProjects = projects
    .filter((folder) => !folder.includes('*') && !folder.includes('${'))
    .flatMap((folder) => [`${folder}/.claude/settings.json`, `${folder}/.claude/settings.local.json`]);
  return [CLAUDE_SETTINGS, ...MANAGED, ...ofProjects].flatMap(read);
}

function meaningFor(server: string, rule: string): Meant | undefined {
  const named = /^mcp__[^(]*/.exec(rule)?.[0].trim() ?? (rule === '*' ? 'mcp__*' : '');
  if (named === '') return undefined;
  if (named === `mcp__${server}` || named === `mcp__${server}__*`) return { kind: 'server' };
  const prefix = `mcp__${server}__`;
  if (named.startsWith(prefix)) {
    const tool = named.slice(prefix.length);
    return tool.includes('*') ? { kind: 'pattern' } : { kind: 'tool', tool };
  }
  if (!named.includes('*')) return undefined;
  return matchesGlob(named, `${prefix}some_tool`) ? { kind: 'server' } : undefined;
}

const covers = (rule: string, name: string, tool: string): boolean =>
  rule === `mcp__${name}` || rule === '*' || matchesGlob(rule, tool);

/** Whether a hook sees the server's calls and not ours. */
function hasHookFor(value: unknown, server: string, ownTool: string): boolean {
  const hooks = memberOf(value, 'hooks');
  const matchers = ['PreToolUse', 'PermissionRequest', 'PostToolUse'].flatMap((event) => {
    const list = memberOf(hooks, event);
    return Array.isArray(list) ? list.flatMap((one: unknown) => textsOf([memberOf(one, 'matcher')])) : [];
  });
  return matchers.some((matcher) => {
    if (matcher === '' || matcher === '*') return false;
    try {
      const pattern = new RegExp(`^(?:${matcher})`);
      const seesServer = [`mcp__${server}`, `mcp__${server}__some_tool`].some((name) => pattern.test(name));
      return (seesServer || matcher.includes(`mcp__${server}`)) && !pattern.test(ownTool);
    } catch {
      return matcher.includes('mcp__');
    }
  });
}

const memberOf = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);
