// OpenCode's rules: `tools` switches tools by name or pattern, `permission` allows, asks or denies; of several that match
// the last counts. A tool of a server is called SERVER_TOOL there.

import { isRecord, saysOff } from '../../base/json/records.js';
import { asked, type DeniedTool, type HostRules, matchesGlob, onlyUnasked, type ReadRules } from './rules.js';

const HOST = 'OpenCode';
const FILES = [
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way
  '${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json',
  '${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc',
  '${OPENCODE_CONFIG_DIR}/opencode.json',
  '${OPENCODE_CONFIG_DIR}/opencode.jsonc',
  '${OPENCODE_CONFIG}',
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above
  '^/opencode.json',
  '^/opencode.jsonc',
];

type Decision = 'allow' | 'ask' | 'deny';
type Rule = { readonly pattern: string; readonly decision: Decision | undefined; readonly file: string };

export const openCodeRules: ReadRules = ({ server, own, read }) => {
  const leave = (reason: string): HostRules => ({ leave: reason, denied: [] });
  const files = FILES.flatMap(read);
  for (const { file, value } of files) {
    const agents = isRecord(value) ? [value['agent'], value['mode']] : [];
    if (JSON.stringify(agents).includes(`"${server}_`))
      return leave(`an agent in ${file} has rules for its tools`);
  }
  const rules = files.flatMap(({ file, value }) => rulesIn(value, file));
  const prefix = `${server}_`;
  const decide = (tool: string): Decision | undefined =>
    rules.findLast(({ pattern }) => matchesGlob(pattern, tool))?.decision ?? 'allow';
  const inner = rules.filter(({ pattern }) => pattern.startsWith(prefix) && pattern !== `${prefix}*`);
  const unclear = inner.find(({ pattern, decision }) => pattern.includes('*') || decision === undefined);
  if (unclear !== undefined) return leave(`${unclear.file} has a rule for ${unclear.pattern}`);
  // No tool is called so: what holds for it holds for all that no rule names.
  const others = decide(`${prefix}\u0000`);
  const isOwnFree = decide(`${own.name}_run_python`) === 'allow';
  const named = inner.map(({ pattern }) => pattern.slice(prefix.length));
  const by = (wanted: Decision) => named.filter((tool) => decide(prefix + tool) === wanted);
  if (others === 'deny') return leave(`${HOST} has its tools switched off`);
  const off = by('deny').map((tool): DeniedTool => ({ tool, why: `denied in ${HOST}` }));
  if (others === 'ask' && isOwnFree)
    return {
      ...onlyUnasked(HOST, by('allow'), `${HOST} asks before its tools, and not before ours`),
      denied: off,
    };
  return { denied: [...off, ...by('ask').map((tool) => ({ tool, why: asked(HOST) }))] };
};

function rulesIn(value: unknown, file: string): Rule[] {
  if (!isRecord(value)) return [];
  const { tools, permission } = value;
  const switches = Object.entries(isRecord(tools) ? tools : {}).map(([pattern, isOn]) => ({
    pattern,
    decision: saysOff(isOn) ? ('deny' as const) : ('allow' as const),
    file,
  }));
  const permissions =
    typeof permission === 'string' ? { '*': permission } : isRecord(permission) ? permission : {};
  return [
    ...switches,
    ...Object.entries(permissions).map(([pattern, decision]) => ({
      pattern,
      decision: decisionOf(decision),
      file,
    })),
  ];
}

const decisionOf = (value: unknown): Decision | undefined =>
  value === 'allow' || value === 'ask' || value === 'deny' ? value : undefined;
