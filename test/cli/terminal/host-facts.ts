// Made-up facts of hosts: what `install`, `adopt` and their undo print is laid out of them.

import type { ChangedEntry, GotSetting, ShownSettings } from '../../../src/cli/servers/config.js';
import type { InstalledHere } from '../../../src/cli/servers/install.js';
import type { Adopted, Restored } from '../../../src/hosts/install/adoption.js';
import type { HostHere, Installed, Uninstalled } from '../../../src/hosts/install/registration.js';

const HOME = '/home/ann';
const STATE = `${HOME}/.local/state/mcp-sandbox-bridge/host-changes`;

export const HOSTS: readonly HostHere[] = [
  {
    id: 'claude-code',
    title: 'Claude Code',
    found: { kind: 'program', path: '/usr/bin/claude' },
    file: `${HOME}/.claude.json`,
    registeredAs: 'sandbox',
    trouble: undefined,
  },
  {
    id: 'cline',
    title: 'Cline',
    found: { kind: 'file', path: HOME },
    file: `${HOME}/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`,
    registeredAs: undefined,
    trouble: undefined,
  },
  {
    id: 'zed',
    title: 'Zed',
    found: { kind: 'file', path: HOME },
    file: `${HOME}/.config/zed/settings.json`,
    registeredAs: undefined,
    trouble: `${HOME}/.config/zed/settings.json:3:7: a comma is missing between two members of an object.`,
  },
];

export const INSTALLED: Installed = {
  host: 'codex',
  title: 'Codex',
  file: `${HOME}/.codex/config.toml`,
  result: 'registered',
  name: 'sandbox',
  entry: { command: 'npx', args: ['-y', 'mcp-sandbox-bridge'] },
  backup: `${STATE}/20261123T033528819Z-codex-install-1591`,
  undo: 'mcp-sandbox-bridge uninstall codex',
};

export const DIFFERS: InstalledHere = {
  ...INSTALLED,
  result: 'already registered',
  differs: [{ name: 'MCP_BRIDGE_IMAGE', here: null, given: 'data' }],
};

const CODEX = { host: 'codex', title: 'Codex', file: INSTALLED.file, name: 'sandbox' };
const CLAUDE = {
  host: 'claude-code',
  title: 'Claude Code',
  file: `${HOME}/.claude.json`,
  name: 'sandbox',
};

export const SETTINGS: ShownSettings = {
  entries: [
    {
      ...CLAUDE,
      settings: { MCP_BRIDGE_IMAGE: 'data', MCP_BRIDGE_TIMEOUT: 'soon', GITHUB_TOKEN: '…' },
      problems: ["MCP_BRIDGE_TIMEOUT is 'soon'; allowed: whole seconds from 1 to 86400."],
    },
    { ...CODEX, settings: { MCP_BRIDGE_IMAGE: 'data' }, problems: [] },
  ],
  differing: ['GITHUB_TOKEN', 'MCP_BRIDGE_TIMEOUT'],
  troubles: [
    {
      host: 'zed',
      message: `${HOME}/.config/zed/settings.json:3:7: a comma is missing between two members of an object.`,
    },
  ],
};

export const GOT_SETTING: GotSetting = {
  name: 'MCP_BRIDGE_IMAGE',
  about: {
    meaning: 'Image that holds Python; `data` has numpy, pandas, scipy and matplotlib.',
    default: 'python:3.14-slim',
    allowed: 'an image reference, or the name of a profile that `image build` has built: base, data',
  },
  values: [
    { ...CLAUDE, value: 'data' },
    { ...CODEX, value: null },
  ],
};

export const CHANGED: ChangedEntry = {
  ...CODEX,
  result: 'changed',
  changes: [{ name: 'MCP_BRIDGE_IMAGE', before: null, after: 'data' }],
  undo: 'mcp-sandbox-bridge config unset MCP_BRIDGE_IMAGE --host codex',
  next: 'Restart Codex: it hands settings over when it starts the bridge.',
};

export const UNINSTALLED: Uninstalled = {
  host: 'codex',
  title: 'Codex',
  result: 'removed',
  files: [
    {
      file: `${HOME}/.codex/config.toml`,
      result: 'edited',
      notes: [`A copy of the file as it was is in ${STATE}/20261123T033528819Z-codex-install-1591.`],
    },
  ],
  restore: 'mcp-sandbox-bridge restore codex',
};

export const ADOPTED: Adopted = {
  host: 'codex',
  title: 'Codex',
  result: 'moved',
  servers: [
    {
      name: 'github',
      file: `${HOME}/.codex/config.toml`,
      tools: 51,
      chars: 48_213,
      only: undefined,
      onlyWhy: undefined,
      denied: [{ tool: 'delete_repository', why: 'Codex asked before each call of it' }],
    },
    {
      name: 'files',
      file: `${HOME}/.codex/config.toml`,
      tools: undefined,
      chars: undefined,
      only: ['read_file', 'list_directory'],
      onlyWhy: undefined,
      denied: [],
    },
  ],
  left: [
    {
      name: 'linear',
      file: `${HOME}/.codex/config.toml`,
      reason: 'its login is held by Codex, and cannot be taken along',
    },
    { name: 'sandbox', file: `${HOME}/.codex/config.toml`, reason: 'this bridge itself' },
  ],
  file: `${HOME}/.config/mcp-sandbox-bridge/servers/codex.json`,
  registers: true,
  name: 'sandbox',
  backup: `${STATE}/20261123T033529396Z-codex-adopt-5660`,
  undo: 'mcp-sandbox-bridge restore codex',
  unseen: undefined,
};

export const RESTORED: Restored = {
  host: 'codex',
  title: 'Codex',
  result: 'restored',
  files: [
    { file: `${HOME}/.codex/config.toml`, result: 'restored', notes: [] },
    { file: `${HOME}/.config/mcp-sandbox-bridge/servers/codex.json`, result: 'removed', notes: [] },
  ],
};
