// Rules by which hosts deny a server's tools or ask before a call, as far as the hosts' files say so. The rules are not in the
// hosts' records, since only adopt loads them. A rule that no list of tools can keep is a reason to leave the server alone.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { isObject, saysOff, textsOf } from '../../base/json/records.js';
import { namePattern } from '../../base/text/name-pattern.js';
import { HOSTS } from '../records/all-hosts.js';
import { CLAUDE_SETTINGS } from '../records/claude-code.js';
import { codex } from '../records/codex.js';
import { HOME as GEMINI_HOME, geminiCli } from '../records/gemini-cli.js';
import { opencode } from '../records/opencode.js';
import type { Host } from '../terms/host.js';

/** A tool that is not to be called here, and what the host would have done with it. */
export type DeniedTool = { readonly tool: string; readonly why: string };

export type HostRules = {
  /** Why the server stays in the host; undefined where nothing speaks against moving it. */
  readonly leave?: string | undefined;
  /** The only tools that the host calls without asking, where it asks before the others; undefined means no such list. */
  readonly only?: { readonly tools: readonly string[]; readonly why: string } | undefined;
  readonly denied: readonly DeniedTool[];
};

export const NO_RULES: HostRules = { denied: [] };

/** Facts from which the rules of a host are read. */
export type RulesContext = {
  readonly server: string;
  readonly entry: Readonly<Record<string, unknown>>;
  /** Our own entry in the host and the name it has, or will have. */
  readonly own: { readonly name: string; readonly entry: Readonly<Record<string, unknown>> };
  /** Reads the file of this pattern (see source-files.ts), if the file is there; a broken one throws E_CONFIG. */
  readonly read: (pattern: string) => ReadonlyArray<{ readonly file: string; readonly value: unknown }>;
};

type ReadRules = (context: RulesContext) => HostRules;

/** `*` stands for any characters. */
function matchesGlob(pattern: string, text: string): boolean {
  // No host gives a backslash a meaning.
  return namePattern(pattern.replaceAll('\\', '\\\\'), 'exact')(text);
}

const askedReason = (host: string): string => `${host} asks before it, which the bridge cannot do`;

/** The list where only some tools may be called unasked; a server of which none may stays. */
function onlyUnasked(host: string, tools: readonly string[], why: string): HostRules {
  if (tools.length === 0) return { leave: why, denied: [] };
  return { only: { tools, why: `${host} asks before all others` }, denied: [] };
}

// Claude Code's rules for single servers and tools: permissions and hooks, in the user's, the administrator's and every
// known project's settings. A rule of a project that denies or asks counts everywhere, since a moved server is one for all.

const HOST = 'Claude Code';
const MANAGED = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
  'C:/Program Files/ClaudeCode/managed-settings.json',
];

const claudeCodeRules: ReadRules = (context) => {
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
        denied.push({ tool: meant.tool, why: list === 'deny' ? `denied by ${where}` : askedReason(HOST) });
      else return { leave: `${where} has the rule ${rule}`, denied: [] };
    }
  }
  const hook = settings.find(({ value }) => hasHookFor(value, server, ownTool));
  if (hook !== undefined) return { leave: `a hook in ${hook.file} checks its calls`, denied: [] };
  const allowed = rules('allow');
  const isOwnFree = allowed.some(({ rule }) => covers(rule, own.name, ownTool));
  const meant = allowed.flatMap(({ rule }) => meaningFor(server, rule) ?? []);
  if (!isOwnFree || meant.some(({ kind }) => kind === 'server')) return { denied };
  const tools = meant.flatMap((one) => (one.kind === 'tool' ? [one.tool] : []));
  return {
    ...onlyUnasked(HOST, tools, `${HOST} asks before its tools, but runs ${ownTool} without asking`),
    denied,
  };
};

/** Settings of the user and the administrator, and of each project that Claude Code knows. */
function settingsOf({ read }: RulesContext): ReturnType<RulesContext['read']> {
  const projects = read('${CLAUDE_CONFIG_DIR:-~}/.claude.json').flatMap(({ value }) => {
    const known = memberOf(value, 'projects');
    return isObject(known) ? Object.keys(known) : [];
  });
  const ofProjects = projects
    .filter((folder) => !folder.includes('*') && !folder.includes('${'))
    .flatMap((folder) => [`${folder}/.claude/settings.json`, `${folder}/.claude/settings.local.json`]);
  return [CLAUDE_SETTINGS, ...MANAGED, ...ofProjects].flatMap(read);
}

function meaningFor(
  server: string,
  rule: string,
):
  | { readonly kind: 'server' }
  | { readonly kind: 'tool'; readonly tool: string }
  | { readonly kind: 'pattern' }
  | undefined {
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

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

// Codex's approvals stand in the server's own entry: `default_tools_approval_mode`, and `approval_mode` of a tool. `auto` asks
// before what may destroy something, `prompt` before every call, `approve` never.

const FREE = 'approve';
const KNOWN_OF_TOOL = ['approval_mode', 'enabled'];

const codexRules: ReadRules = ({ entry, own }) => {
  const tools = codexToolsOf(entry);
  const unknown = tools
    .flatMap(([, settings]) => Object.keys(settings))
    .find((key) => !KNOWN_OF_TOOL.includes(key));
  if (unknown !== undefined)
    return { leave: `'tools' in its entry has '${unknown}', which the bridge does not know`, denied: [] };
  const modeOf = (settings: Readonly<Record<string, unknown>>) => settings['approval_mode'];
  const whole = entry['default_tools_approval_mode'];
  const isOwnFree = [
    own.entry['default_tools_approval_mode'],
    ...codexToolsOf(own.entry).map(([, one]) => modeOf(one)),
  ].includes(FREE);
  const off = tools
    .filter(([, { enabled }]) => saysOff(enabled))
    .map(([tool]) => ({ tool, why: 'switched off in Codex' }));
  if (whole !== FREE && ((whole !== undefined && whole !== 'auto') || isOwnFree)) {
    const free = tools.filter(([, settings]) => modeOf(settings) === FREE).map(([tool]) => tool);
    const why = isOwnFree
      ? `${codex.title} may ask before its tools, but runs the bridge without asking`
      : `${codex.title} asks before each of its tools (default_tools_approval_mode)`;
    return { ...onlyUnasked(codex.title, free, why), denied: off };
  }
  const asking = tools.flatMap(([tool, settings]): DeniedTool[] => {
    const mode = modeOf(settings);
    const isFree = mode === undefined || mode === FREE || (mode === 'auto' && whole !== FREE);
    return isFree ? [] : [{ tool, why: askedReason(codex.title) }];
  });
  return { denied: [...off, ...asking] };
};

function codexToolsOf(
  entry: Readonly<Record<string, unknown>>,
): Array<[string, Readonly<Record<string, unknown>>]> {
  const { tools } = entry;
  return Object.entries(isObject(tools) ? tools : {}).map(([tool, settings]) => [
    tool,
    isObject(settings) ? settings : {},
  ]);
}

// Gemini CLI has `trust`, tools excluded for all servers, tools allowed for certain arguments only, and the user's policies.

const geminiRules: ReadRules = (context) => {
  const { server, entry, own } = context;
  const leave = (reason: string) => ({ leave: reason, denied: [] });
  if (textsOf(entry['includeTools']).some((tool) => tool.includes('(')))
    return leave("'includeTools' allows a tool for certain arguments only, which the bridge cannot do");
  const policies = geminiPoliciesFor(context);
  const policy = policies.find(({ server: named, decision }) => named === server && decision !== 'allow');
  if (policy !== undefined) return leave(`${policy.file} has a rule for it`);
  const unasked = geminiListsIn(context, 'allowed', 'allowedTools').map(({ name }) => name);
  const isFree = (name: string) =>
    policies.some((one) => one.server === name && one.decision === 'allow') ||
    unasked.some((tool) => geminiPrefixesOf(name).some((prefix) => tool.startsWith(prefix)));
  const isOwnFree = own.entry['trust'] === true || isFree(own.name);
  if (isOwnFree && entry['trust'] !== true && !isFree(server))
    return leave(`${geminiCli.title} asks before its tools, but runs the bridge without asking`);
  const excluded = geminiListsIn(context, 'exclude', 'excludeTools');
  const denied: DeniedTool[] = [];
  for (const { name, file } of excluded) {
    const prefix = geminiPrefixesOf(server).find((one) => name.startsWith(one));
    const tool = prefix === undefined ? name : name.slice(prefix.length);
    if (tool.includes('*')) {
      if (prefix !== undefined || matchesGlob(name, `mcp_${server}_some_tool`))
        return leave(`the list of excluded tools in ${file} has ${name}`);
    } else denied.push({ tool, why: `excluded in ${file}` });
  }
  return { denied };
};

/** How a tool of a server is spelled in lists for all. */
const geminiPrefixesOf = (server: string): string[] => [`mcp_${server}_`, `mcp__${server}__`, `${server}__`];

/** Names in `tools.NAME`, and where that was kept once. */
function geminiListsIn({ read }: RulesContext, name: string, once: string) {
  return read(`${GEMINI_HOME}/settings.json`).flatMap(({ file, value }) => {
    const settings = isObject(value) ? value : {};
    const tools = isObject(settings['tools']) ? settings['tools'] : {};
    const lists = [settings[once], tools[name]].flatMap(textsOf);
    return lists.map((written) => ({ name: written.replace(/\(.*$/s, ''), file }));
  });
}

function geminiPoliciesFor({ read, server, own }: RulesContext) {
  return read(`${GEMINI_HOME}/policies/*.toml`).flatMap(({ file, value }) => {
    const rules = isObject(value) && Array.isArray(value['rule']) ? (value['rule'] as unknown[]) : [];
    return rules.flatMap((rule) =>
      [server, own.name].flatMap((name) =>
        isGeminiRuleFor(rule, name) ? [{ file, server: name, decision: Object(rule).decision }] : [],
      ),
    );
  });
}

function isGeminiRuleFor(rule: unknown, server: string): boolean {
  if (!isObject(rule)) return false;
  const { mcpName, toolName } = rule;
  const tools = Array.isArray(toolName) ? textsOf(toolName) : textsOf([toolName]);
  const named = tools.some((tool) =>
    geminiPrefixesOf(server).some(
      (prefix) => tool.startsWith(prefix) || (tool.includes('*') && matchesGlob(tool, `${prefix}some_tool`)),
    ),
  );
  return mcpName === server || mcpName === '*' || named;
}

// In OpenCode, `tools` switches tools by name or pattern, `permission` allows, asks or denies; of several that match the last
// counts. A tool of a server is called SERVER_TOOL there.

const OPENCODE_FILES = [
  '${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json',
  '${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc',
  '${OPENCODE_CONFIG_DIR}/opencode.json',
  '${OPENCODE_CONFIG_DIR}/opencode.jsonc',
  '${OPENCODE_CONFIG}',
  '^/opencode.json',
  '^/opencode.jsonc',
];

const openCodeRules: ReadRules = ({ server, own, read }) => {
  const leave = (reason: string): HostRules => ({ leave: reason, denied: [] });
  const files = OPENCODE_FILES.flatMap(read);
  for (const { file, value } of files) {
    const agents = isObject(value) ? [value['agent'], value['mode']] : [];
    if (JSON.stringify(agents).includes(`"${server}_`))
      return leave(`an agent in ${file} has rules for its tools`);
  }
  const rules = files.flatMap(({ file, value }) => openCodeRulesIn(value, file));
  const prefix = `${server}_`;
  const decide = (tool: string) =>
    rules.findLast(({ pattern }) => matchesGlob(pattern, tool))?.decision ?? 'allow';
  const inner = rules.filter(({ pattern }) => pattern.startsWith(prefix) && pattern !== `${prefix}*`);
  const unclear = inner.find(({ pattern, decision }) => pattern.includes('*') || decision === undefined);
  if (unclear !== undefined) return leave(`${unclear.file} has a rule for ${unclear.pattern}`);
  // No tool is called so: what holds for it holds for all that no rule names.
  const others = decide(`${prefix}\u0000`);
  const isOwnFree = decide(`${own.name}_run_python`) === 'allow';
  const named = inner.map(({ pattern }) => pattern.slice(prefix.length));
  const by = (wanted: ReturnType<typeof decide>) => named.filter((tool) => decide(prefix + tool) === wanted);
  if (others === 'deny') return leave(`${opencode.title} has its tools switched off`);
  const off = by('deny').map((tool): DeniedTool => ({ tool, why: `denied in ${opencode.title}` }));
  if (others === 'ask' && isOwnFree)
    return {
      ...onlyUnasked(
        opencode.title,
        by('allow'),
        `${opencode.title} asks before its tools, but not before the bridge's`,
      ),
      denied: off,
    };
  return { denied: [...off, ...by('ask').map((tool) => ({ tool, why: askedReason(opencode.title) }))] };
};

function openCodeRulesIn(value: unknown, file: string) {
  if (!isObject(value)) return [];
  const { tools, permission } = value;
  const switches = Object.entries(isObject(tools) ? tools : {}).map(([pattern, isOn]) => ({
    pattern,
    decision: saysOff(isOn) ? ('deny' as const) : ('allow' as const),
    file,
  }));
  const permissions =
    typeof permission === 'string' ? { '*': permission } : isObject(permission) ? permission : {};
  return [
    ...switches,
    ...Object.entries(permissions).map(([pattern, decision]) => ({
      pattern,
      decision: openCodeDecisionOf(decision),
      file,
    })),
  ];
}

const openCodeDecisionOf = (value: unknown) =>
  value === 'allow' || value === 'ask' || value === 'deny' ? value : undefined;

/** Cline asks before every tool that `autoApprove` does not name. It writes an empty list into every entry. */
const clineRules: ReadRules = ({ entry, own }) => {
  const listsOf = (one: Readonly<Record<string, unknown>>) => [one['autoApprove'], one['alwaysAllow']];
  if (listsOf(entry).some((list) => list !== undefined && !Array.isArray(list)))
    return { leave: "'autoApprove' in its entry is not a list of tools", denied: [] };
  const approved = listsOf(entry).flatMap(textsOf);
  const isOwnFree = listsOf(own.entry).flatMap(textsOf).includes('run_python');
  if (approved.length === 0 && !isOwnFree) return NO_RULES;
  return onlyUnasked('Cline', approved, 'Cline asks before its tools, but runs the bridge without asking');
};

/** Zed's profiles switch tools; its permissions allow, confirm or deny them as `mcp:SERVER:TOOL`. */
const zedRules: ReadRules = ({ server, own, read }) => {
  const denied: DeniedTool[] = [];
  const files = ['${XDG_CONFIG_HOME:-~/.config}/zed/settings.json', '${APPDATA}/Zed/settings.json'];
  for (const { file, value } of files.flatMap(read)) {
    const agent = mapAt(value, 'agent');
    for (const [profile, settings] of Object.entries(mapAt(agent, 'profiles'))) {
      const tools = mapAt(mapAt(mapAt(settings, 'context_servers'), server), 'tools');
      const off = Object.entries(tools).filter(([, isOn]) => saysOff(isOn));
      denied.push(...off.map(([tool]) => ({ tool, why: `switched off in profile '${profile}' of Zed` })));
      const isListed = Object.hasOwn(mapAt(settings, 'context_servers'), server);
      const isOwnListed = Object.hasOwn(mapAt(settings, 'context_servers'), own.name);
      const takesAll = isObject(settings) && settings['enable_all_context_servers'] === true;
      if (!takesAll && !isListed && isOwnListed)
        return { leave: `profile '${profile}' in ${file} has the bridge and not this server`, denied: [] };
    }
    const permissions = mapAt(mapAt(agent, 'tool_permissions'), 'tools');
    const modeOf = (tool: string) => mapAt(permissions, tool)['default'];
    const isOwnFree = modeOf(`mcp:${own.name}:run_python`) === 'allow';
    const prefix = `mcp:${server}:`;
    const named = Object.keys(permissions).filter((name) => name.startsWith(prefix));
    for (const name of named) {
      const isFree = modeOf(name) === 'allow' && Object.keys(mapAt(permissions, name)).length === 1;
      if (!isFree) denied.push({ tool: name.slice(prefix.length), why: askedReason('Zed') });
    }
    if (isOwnFree) {
      const free = named.filter((name) => modeOf(name) === 'allow').map((name) => name.slice(prefix.length));
      return {
        ...onlyUnasked('Zed', free, 'Zed asks before its tools, but runs the bridge without asking'),
        denied,
      };
    }
  }
  return { denied };
};

/** Cursor's command line has lists of `Mcp(server:tool)`. What is switched off in its windows stands in no file. */
const cursorRules: ReadRules = ({ server, own, read }) => {
  const settings = read('~/.cursor/cli-config.json').map(({ file, value }) => ({
    file,
    lists: mapAt(value, 'permissions'),
  }));
  const meant = (rule: string) =>
    rule.startsWith('Mcp(') && rule.endsWith(')')
      ? rule
          .slice('Mcp('.length, -1)
          .split(':', 2)
          .map((word) => word.trim())
      : [];
  const denied: DeniedTool[] = [];
  for (const { file, lists } of settings) {
    for (const rule of textsOf(lists['deny'])) {
      const [named, tool = '*'] = meant(rule);
      if (named === '*' || named === server) {
        if (tool.includes('*')) return { leave: `permissions.deny in ${file} has ${rule}`, denied: [] };
        denied.push({ tool, why: `denied in ${file}` });
      }
    }
    const allowed = textsOf(lists['allow']).map(meant);
    const isFree = (name: string) =>
      allowed.some(([one, tool = '*']) => one === name && (tool === '*' || tool === 'run_python'));
    if (isFree(own.name) && !isFree(server)) {
      const tools = allowed.flatMap(([one, tool]) => (one === server && tool !== undefined ? [tool] : []));
      return {
        ...onlyUnasked('Cursor', tools, 'Cursor asks before its tools, but runs the bridge without asking'),
        denied,
      };
    }
  }
  return { denied };
};

function mapAt(value: unknown, key: string): Readonly<Record<string, unknown>> {
  const found = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isObject(found) ? found : {};
}

/** Readers of rules, by the host's id; the files of any other host have no rules for single tools. */
const RULES: Readonly<Record<string, ReadRules>> = {
  'claude-code': claudeCodeRules,
  codex: codexRules,
  gemini: geminiRules,
  opencode: openCodeRules,
  cursor: cursorRules,
  zed: zedRules,
  cline: clineRules,
};

/** Facts that must be known of a host before a server is moved out of it, by the host's id. */
export const ADOPTABLE_HOSTS: Readonly<
  Record<string, NonNullable<Host['install']>['adopt'] & { readonly rules: ReadRules }>
> = Object.fromEntries(
  HOSTS.map(({ id, adopt }) => [id, { ...adopt, rules: RULES[id] ?? (() => NO_RULES) }]),
);
