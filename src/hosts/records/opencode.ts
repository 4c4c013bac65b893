// OpenCode.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { type HostDialect, MS, PROGRAM, REMOTE, timeout } from '../terms/dialect.js';
import { type Host, REMOTE_FIELDS, withEnv } from '../terms/host.js';

/** OpenCode's time limit was documented as that of fetching the tools; V2's `execution` was called `request` for a while. */
export const OPENCODE: HostDialect = {
  types: { local: 'stdio', remote: 'auto' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, env: 'environment' },
  callTimes: [
    { at: ['timeout', 'execution'], unitMs: MS },
    { at: ['timeout', 'request'], unitMs: MS },
  ],
  startTimes: [...timeout(MS), { at: ['timeout', 'startup'], unitMs: MS }],
  reshape: (entry) => {
    if (!Array.isArray(entry['command'])) return entry;
    const [command, ...args] = entry['command'] as unknown[];
    return { ...entry, command, args };
  },
};

const source = (
  scope: Host['sources'][number]['scope'],
  files: readonly string[],
): Host['sources'][number] => ({
  scope,
  pointer: ['mcp'],
  movedTo: 'servers',
  files: { any: files },
});
/** When both files are in one folder, OpenCode uses the one with comments. */
const filesIn = (...folders: readonly string[]): string[] =>
  folders.flatMap((folder) => ['opencode.jsonc', 'opencode.json'].map((name) => `${folder}/${name}`));

export const opencode: Host = {
  title: 'OpenCode',
  dialect: OPENCODE,
  expansion: 'opencode',
  sources: [
    source('user', filesIn('${OPENCODE_CONFIG_DIR}')),
    source('project', filesIn('^/.opencode', '^')),
    source('user', ['${OPENCODE_CONFIG}']),
    source('user', filesIn('${XDG_CONFIG_HOME:-~/.config}/opencode')),
  ],
  client: {
    name: 'opencode',
    // Has read_mcp_resource. Of an answer it shows text and pictures only. Keeps the first 50 KiB, in whole lines.
    view: { roomBytes: 50_000, paths: true, links: false, showsStructured: false },
    // The least that OpenCode waits: nobody has tried longer.
    patience: { silent: 60, told: 700 },
  },
  install: {
    id: 'opencode',
    programs: ['opencode'],
    isDesktop: false,
    entry: ({ command, args, env }) => ({
      type: 'local',
      command: [command, ...args],
      // With codemode on, OpenCode's own script tool stands in front of ours.
      codemode: false,
      ...withEnv(env, 'environment'),
    }),
    earlierEntry: ({ command, args, env }) => ({
      type: 'local',
      command: [command, ...args],
      enabled: true,
      ...withEnv(env, 'environment'),
    }),
    adopt: {
      // `codemode` is how the host shows the tools to its model; here code calls them.
      fields: [
        ...[...REMOTE_FIELDS, 'type', 'command', 'environment', 'cwd', 'enabled', 'disabled'],
        ...['timeout', 'oauth', 'codemode'],
      ],
      handsOnVariables: true,
    },
  },
};
