// VS Code, and where editors that grew out of it keep the files of their users.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { PROGRAM, REMOTE } from '../terms/dialect.js';
import {
  type Host,
  PROGRAM_FIELDS,
  REMOTE_FIELDS,
  type Source,
  typedEntry,
  unseenInWindows,
} from '../terms/host.js';

const TITLE = 'VS Code';

/** Files in the user folders of VS Code, of its daily build, and of editors that grew out of it. */
function inUserFolders(editors: readonly string[], ...names: readonly string[]): Source['files'] {
  const under = (root: string) =>
    editors.flatMap((editor) => names.map((name) => `${root}/${editor}/User/${name}`));
  return {
    darwin: under('~/Library/Application Support'),
    linux: [
      ...under('${XDG_CONFIG_HOME:-~/.config}'),
      // Where VS Code works on this machine for a window on another.
      ...names.map((name) => `~/.vscode-server/data/User/${name}`),
    ],
    win32: under('${APPDATA:-~/AppData/Roaming}'),
  };
}
const VS_CODES = ['Code', 'Code - Insiders'];

/** A file of an extension, in all editors in which extensions of VS Code are at home. */
export const ofExtension = (name: string): Source['files'] =>
  inUserFolders([...VS_CODES, 'Cursor', 'Windsurf', 'VSCodium'], `globalStorage/${name}`);

export const vscode: Host = {
  title: TITLE,
  /** VS Code's `http` falls back to SSE. */
  dialect: {
    types: { stdio: 'stdio', http: 'auto', sse: 'sse' },
    addresses: { url: 'auto' },
    fields: { ...PROGRAM, ...REMOTE, envFile: 'envFile' },
    callTimes: [],
    startTimes: [],
  },
  expansion: 'editor',
  sources: [
    { scope: 'project', pointer: ['servers'], files: { any: ['./.vscode/mcp.json'] } },
    {
      scope: 'user',
      pointer: ['servers'],
      files: inUserFolders(VS_CODES, 'mcp.json', 'profiles/*/mcp.json'),
    },
    // Where VS Code kept them once.
    { scope: 'project', pointer: ['mcp', 'servers'], files: { any: ['./.vscode/settings.json'] } },
    { scope: 'user', pointer: ['mcp', 'servers'], files: inUserFolders(VS_CODES, 'settings.json') },
  ],
  client: { name: 'Visual Studio Code', view: { paths: true, links: true, showsStructured: true } },
  install: {
    id: 'vscode',
    programs: ['code', 'code-insiders'],
    isDesktop: true,
    entry: typedEntry,
    adopt: {
      fields: [...PROGRAM_FIELDS, ...REMOTE_FIELDS, 'type', 'envFile', 'gallery', 'version'],
      handsOnVariables: true,
      unseen: unseenInWindows(TITLE),
    },
  },
};
