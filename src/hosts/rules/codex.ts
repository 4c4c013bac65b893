// Codex's approvals, which stand in the server's own entry: `default_tools_approval_mode`, and `approval_mode` of a tool.
// `auto` asks before what may destroy something, `prompt` before every call, `approve` never.

import { isRecord, saysOff } from '../../base/json/records.js';
import { asked, type DeniedTool, onlyUnasked, type ReadRules } from './rules.js';

const HOST = 'Codex';
const FREE = 'approve';
const KNOWN_OF_TOOL = ['approval_mode', 'enabled'];

export const codexRules: ReadRules = ({ entry, own }) => {
  const tools = toolsOf(entry);
  const unknown = tools
    .flatMap(([, settings]) => Object.keys(settings))
    .find((key) => !KNOWN_OF_TOOL.includes(key));
  if (unknown !== undefined)
    return { leave: `'tools' in its entry has '${unknown}', which means nothing here`, denied: [] };
  const modeOf = (settings: Readonly<Record<string, unknown>>) => settings['approval_mode'];
  const whole = entry['default_tools_approval_mode'];
  const isOwnFree = [
    own.entry['default_tools_approval_mode'],
    ...toolsOf(own.entry).map(([, one]) => modeOf(one)),
  ].includes(FREE);
  const off = tools
    .filter(([, { enabled }]) => saysOff(enabled))
    .map(([tool]) => ({ tool, why: 'switched off in Codex' }));
  if (whole !== FREE && ((whole !== undefined && whole !== 'auto') || isOwnFree)) {
    const free = tools.filter(([, settings]) => modeOf(settings) === FREE).map(([tool]) => tool);
    const why = isOwnFree
      ? `${HOST} may ask before its tools, and is set to run ours without asking`
      : `${HOST} asks before each of its tools (default_tools_approval_mode)`;
    return { ...onlyUnasked(HOST, free, why), denied: off };
  }
  const asking = tools.flatMap(([tool, settings]): DeniedTool[] => {
    const mode = modeOf(settings);
    const isFree = mode === undefined || mode === FREE || (mode === 'auto' && whole !== FREE);
    return isFree ? [] : [{ tool, why: asked(HOST) }];
  });
  return { denied: [...off, ...asking] };
};

function toolsOf(
  entry: Readonly<Record<string, unknown>>,
): Array<[string, Readonly<Record<string, unknown>>]> {
  const { tools } = entry;
  return Object.entries(isRecord(tools) ? tools : {}).map(([tool, settings]) => [
    tool,
    isRecord(settings) ? settings : {},
  ]);
}
