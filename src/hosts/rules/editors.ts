// The rules of Cline, Zed and Cursor for a server's tools, as far as their files say them.

import { isRecord, saysOff, textsOf } from '../../base/json/records.js';
import { asked, type DeniedTool, NO_RULES, onlyUnasked, type ReadRules } from './rules.js';

/** Cline asks before every tool that `autoApprove` does not name. It writes an empty list into every entry. */
export const clineRules: ReadRules = ({ entry, own }) => {
  const listsOf = (one: Readonly<Record<string, unknown>>) => [one['autoApprove'], one['alwaysAllow']];
  if (listsOf(entry).some((list) => list !== undefined && !Array.isArray(list)))
    return { leave: "'autoApprove' in its entry is no list of tools", denied: [] };
  const approved = listsOf(entry).flatMap(textsOf);
  const isOwnFree = listsOf(own.entry).flatMap(textsOf).includes('run_python');
  if (approved.length === 0 && !isOwnFree) return NO_RULES;
  return onlyUnasked('Cline', approved, 'Cline asks before its tools, and is set to run ours without asking');
};

/** Zed's profiles switch tools; its permissions allow, confirm or deny them as `mcp:SERVER:TOOL`. */
export const zedRules: ReadRules = ({ server, own, read }) => {
  const denied: DeniedTool[] = [];
  // biome-ignore lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way
  const files = ['${XDG_CONFIG_HOME:-~/.config}/zed/settings.json', '${APPDATA}/Zed/settings.json'];
  for (const { file, value } of files.flatMap(read)) {
    const agent = mapAt(value, 'agent');
    for (const [profile, settings] of Object.entries(mapAt(agent, 'profiles'))) {
      const tools = mapAt(mapAt(mapAt(settings, 'context_servers'), server), 'tools');
      const off = Object.entries(tools).filter(([, isOn]) => saysOff(isOn));
      denied.push(...off.map(([tool]) => ({ tool, why: `switched off in profile '${profile}' of Zed` })));
      const isListed = Object.hasOwn(mapAt(settings, 'context_servers'), server);
      const isOwnListed = Object.hasOwn(mapAt(settings, 'context_servers'), own.name);
      const takesAll = isRecord(settings) && settings['enable_all_context_servers'] === true;
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
      if (!isFree) denied.push({ tool: name.slice(prefix.length), why: asked('Zed') });
    }
    if (isOwnFree) {
      const free = named.filter((name) => modeOf(name) === 'allow').map((name) => name.slice(prefix.length));
      return {
        ...onlyUnasked('Zed', free, 'Zed asks before its tools, and is set to run ours without asking'),
        denied,
      };
    }
  }
  return { denied };
};

/** Cursor's command line has lists of `Mcp(server:tool)`. What is switched off in its windows stands in no file. */
export const cursorRules: ReadRules = ({ server, own, read }) => {
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
        ...onlyUnasked(
          'Cursor',
          tools,
          'Cursor asks before its tools, and is set to run ours without asking',
        ),
        denied,
      };
    }
  }
  return { denied };
};

function mapAt(value: unknown, key: string): Readonly<Record<string, unknown>> {
  const found = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isRecord(found) ? found : {};
}
