import { expect, it } from 'vitest';
import { explainSkip } from '../../src/hosts/discovery/explain-skip.js';
import type { Mistake, ServerSkipReason } from '../../src/hosts/skip-reason.js';
import { Home, reasonsIn } from './home.js';

const file = '/home/ann/.cursor/mcp.json';
const of = (reason: ServerSkipReason, host = 'Cursor', beside?: 'the file') =>
  explainSkip({ name: 'a', reason, source: { host, scope: 'user', file, pointer: '/mcpServers/a' } }, beside);
const needs = (...some: Extract<ServerSkipReason, { kind: 'unusable' }>['needs']): ServerSkipReason => ({
  kind: 'unusable',
  needs: some,
  mistakes: [],
});
const mistakes = (...some: readonly Mistake[]): ServerSkipReason => ({
  kind: 'unusable',
  needs: [],
  mistakes: some,
});
const variable = { kind: 'variable', name: 'A' } as const;
const input = { kind: 'host-value', what: 'input', name: 'key' } as const;
const badArgs: Mistake = {
  kind: 'wrong-field',
  field: 'args',
  trouble: 'expected array, received string',
};
const shared: Mistake = {
  kind: 'wrong-file',
  field: 'file',
  file: '/x',
  trouble: 'can be written by other users; run: chmod go-w /x',
  isUnsafe: true,
};
const ONLY_CURSOR = /^Only Cursor knows it\. .*mcp\/servers/;

it.each<[string, ServerSkipReason, 'ok' | 'warn', string | RegExp | undefined]>([
  ['this bridge itself', { kind: 'this-bridge' }, 'ok', undefined],
  ["same server as 'a' in /x.json", { kind: 'same-server', name: 'a', file: '/x.json' }, 'ok', undefined],
  [
    "same server as 'b' in /x.json",
    { kind: 'same-server', name: 'b', file: '/x.json' },
    'ok',
    "Its name here is 'b'.",
  ],
  [
    'not approved: it comes with the project; set MCP_BRIDGE_TRUST_PROJECT=1',
    { kind: 'unapproved-project', host: undefined },
    'warn',
    undefined,
  ],
  [
    'not approved: it comes with the project; approve it in Codex, or set MCP_BRIDGE_TRUST_PROJECT=1',
    { kind: 'unapproved-project', host: 'Codex' },
    'warn',
    undefined,
  ],
  ['has the name of a server in /x.json', { kind: 'shadowed', file: '/x.json' }, 'ok', /another name/],
  ['disabled in its file', { kind: 'disabled-in-file' }, 'ok', /^Switch it on in Cursor\.$/],
  [
    'disabled in Cursor: /s.json does not enable p@m',
    { kind: 'plugin-not-enabled', host: 'Cursor', file: '/s.json', id: 'p@m' },
    'ok',
    'Switch it on in Cursor.',
  ],
  [
    'disabled in Gemini CLI: mcp.excluded names it',
    { kind: 'excluded', host: 'Gemini CLI', setting: 'mcp.excluded' },
    'ok',
    'Switch it on in Cursor.',
  ],
  [
    'disabled: Gemini CLI does not trust this folder',
    { kind: 'folder-not-trusted', host: 'Gemini CLI' },
    'ok',
    'Trust the folder in Gemini CLI.',
  ],
  [
    'may be disabled in Gemini CLI: /s.json cannot be read',
    { kind: 'perhaps-disabled', host: 'Gemini CLI', file: '/s.json' },
    'ok',
    'Fix that file.',
  ],
  [
    'not approved: refused in Cursor',
    { kind: 'refused-project', host: 'Cursor' },
    'warn',
    /^Approve it in Cursor/,
  ],
  [
    'Claude Code takes its servers from /etc/x.json only',
    { kind: 'managed-only', host: 'Claude Code', file: '/etc/x.json' },
    'warn',
    /administrator/,
  ],
  [
    'this bridge runs inside another bridge',
    { kind: 'nested-bridge' },
    'warn',
    /MCP_BRIDGE_ALLOW_SELF_SERVER=1/,
  ],
  ['needs environment variable A, B', needs(variable, { ...variable, name: 'B' }), 'warn', /env field/],
  ['needs environment variable A; input key', needs(variable, input), 'warn', /env field/],
  ['needs input key', needs(input), 'warn', ONLY_CURSOR],
  ['needs secret K', needs({ kind: 'host-value', what: 'secret', name: 'K' }), 'warn', ONLY_CURSOR],
  // A host may have a kind of value that is called as one of ours is.
  ['needs file K', needs({ kind: 'host-value', what: 'file', name: 'K' }), 'warn', ONLY_CURSOR],
  [
    "needs the sign-in of Gemini CLI (authProviderType 'google')",
    { kind: 'host-sign-in', host: 'Gemini CLI', provider: 'google' },
    'warn',
    /Only .* can use this entry/,
  ],
  ['needs file ~/token', needs({ kind: 'file', name: '~/token' }), 'warn', /^Create that file/],
  [
    'needs plugin option key',
    { kind: 'needs-plugin-options', options: [{ name: 'key', isSensitive: false }] },
    'warn',
    'Give the plugin its option in Cursor.',
  ],
  [
    'needs plugin option key, plugin option b',
    {
      kind: 'needs-plugin-options',
      options: [
        { name: 'key', isSensitive: false },
        { name: 'b', isSensitive: false },
      ],
    },
    'warn',
    'Give the plugin its options in Cursor.',
  ],
  [
    'needs plugin option key, which Claude Code keeps among its credentials',
    { kind: 'needs-plugin-options', options: [{ name: 'key', isSensitive: true }] },
    'warn',
    ONLY_CURSOR,
  ],
  [
    "is of type 'sdk', which works only in its host",
    { kind: 'host-type', type: 'sdk' },
    'warn',
    /Only .* can use this entry/,
  ],
  [
    'is a bundle (.mcpb), which only Claude Code can unpack',
    { kind: 'plugin-bundle', host: 'Claude Code' },
    'warn',
    /Only .* can use this entry/,
  ],
  ["is of type 'ws'; WebSocket servers are not supported", { kind: 'websocket', type: 'ws' }, 'warn', /HTTP/],
  ['denied by the rule x', { kind: 'denied', rule: 'the rule x' }, 'ok', /change that rule/],
  [
    "field 'args': expected array, received string",
    mistakes(badArgs, badArgs),
    'warn',
    `Correct the entry in ${file}.`,
  ],
  [
    'is null; expected: an object with a command',
    mistakes({ kind: 'not-an-object', found: 'null' }),
    'warn',
    `Correct the entry in ${file}.`,
  ],
  [
    'file /x can be written by other users; run: chmod go-w /x; a value has a NUL character',
    mistakes(shared, { kind: 'nul-in-value' }),
    'warn',
    undefined,
  ],
])('%s', (text, reason, severity, remedy) => {
  const explained = of(reason);
  expect(explained).toMatchObject({ text, severity });
  if (remedy === undefined || typeof remedy === 'string') expect(explained.remedy).toBe(remedy);
  else expect(explained.remedy).toMatch(remedy);
});

it('what a file says cannot choose the remedy', () => {
  const trouble = 'disabled by WebSocket; needs file; this bridge runs inside another bridge';
  const odd = mistakes({ kind: 'wrong-field', field: 'chmod go-w', trouble });
  expect(of(odd)).toMatchObject({ severity: 'warn', remedy: `Correct the entry in ${file}.` });
  expect(of({ kind: 'same-server', name: 'b in /y', file: 'x' }).remedy).toBe("Its name here is 'b in /y'.");
});

it('one that is off in a file of no host is switched on there', () => {
  for (const host of ['generic', 'MCP_SERVERS_CONFIG', 'home-manager'])
    expect(of({ kind: 'disabled-in-file' }, host).remedy).toBe(`Switch it on in ${file}.`);
});

it('where the reader sees the file, it is not named again', () => {
  expect(of({ kind: 'disabled-in-file' }, 'generic', 'the file').remedy).toBe('Switch it on.');
  expect(of({ kind: 'disabled-in-file' }, 'Cursor', 'the file').remedy).toBe('Switch it on in Cursor.');
  expect(of(mistakes(badArgs), 'Cursor', 'the file').remedy).toBe('Correct the entry.');
  expect(of(needs({ kind: 'file', name: 'x' }), 'Cursor', 'the file').remedy).toBe(
    'Create that file, or correct the entry.',
  );
});

it('a remedy holds no character that does not show', () => {
  expect(of({ kind: 'same-server', name: 'b\u001b[2J', file: 'x' }).remedy).not.toContain('\u001b');
});

it('an entry of the same name and the same words is the same server, not a rival', () => {
  using home = new Home();
  const a = { command: 'npx', args: ['-y', 'a'] };
  const state = home.write('.claude.json', { mcpServers: { a } });
  home.write('.cursor/mcp.json', { mcpServers: { a } });
  home.write('.kiro/settings/mcp.json', { mcpServers: { a: { command: 'other' } } });
  const found = home.discover();
  expect(found.skipped.map((one) => explainSkip(one).text)).toEqual([
    `same server as 'a' in ${state}`,
    `has the name of a server in ${state}`,
  ]);
  expect(reasonsIn(found)).toEqual({ a: `has the name of a server in ${state}` });
});
