import { expect, test } from 'vitest';
import { remedyOf, remedyOfMissing } from '../../src/config/skipped-remedy.js';
import { Home } from './home.js';

const file = '/home/ann/.cursor/mcp.json';
const of = (reason: string, host = 'Cursor') =>
  remedyOf({ name: 'a', reason, source: { host, scope: 'user', file, pointer: '/mcpServers/a' } });

test.each([
  ['this bridge itself', undefined],
  ['same as a in /x.json', undefined],
  ['same as b in /x.json', 'It is used as b.'],
  ['not approved: it comes with the project; set MCP_BRIDGE_TRUST_PROJECT=1', undefined],
  ['shadowed by /x.json', /another name/],
  ['disabled in its file', /^Switch it on in Cursor\.$/],
  ['not approved: refused in Cursor', /^Approve it in Cursor/],
  ['only /etc/x.json counts for Claude Code', /administers/],
  ['this bridge runs inside another bridge', /MCP_BRIDGE_ALLOW_SELF_SERVER=1/],
  ['needs environment variable A, B', /env field/],
  ['needs input key', /^Only Cursor can supply it\. .*mcp\/servers/],
  ['needs secret K', /^Only Cursor can supply it\. /],
  ['needs the sign-in of Gemini CLI', /register the server itself/],
  ['needs file ~/token', /^Make that file/],
  ["is of type 'sdk', which exists only inside its host", /register the server itself/],
  ["is of type 'ws'; WebSocket servers are not supported", /HTTP/],
  ['denied by the rule x', /change that rule/],
  ["field 'args': expected array, received string", `Correct the entry in ${file}.`],
  ['is null where an object with a command is expected', `Correct the entry in ${file}.`],
])('%s', (reason, remedy) => {
  if (remedy === undefined || typeof remedy === 'string') expect(of(reason)).toBe(remedy);
  else expect(of(reason)).toMatch(remedy);
});

test('one that is off in a file of no host is switched on there', () => {
  expect(of('disabled in its file', 'generic')).toBe(`Switch it on in ${file}.`);
});

test('an entry of the same name and the same words is the same server, not a rival', () => {
  using home = new Home();
  const a = { command: 'npx', args: ['-y', 'a'] };
  const state = home.write('.claude.json', { mcpServers: { a } });
  home.write('.cursor/mcp.json', { mcpServers: { a } });
  home.write('.kiro/settings/mcp.json', { mcpServers: { a: { command: 'other' } } });
  expect(home.discover().skipped.map(({ reason }) => reason)).toEqual([
    `same as a in ${state}`,
    `shadowed by ${state}`,
  ]);
});

test('a server that is nowhere may stand in a file that has a problem', () => {
  expect(remedyOfMissing([])).toBeUndefined();
  const broken = { file, message: `${file}:1:2: value expected` };
  expect(remedyOfMissing([broken])).toBe(
    `It may stand in a file that has a problem: ${file}:1:2: value expected.`,
  );
  expect(remedyOfMissing([{ file, message: 'is in UTF-16' }, broken])).toBe(
    `It may stand in a file that has a problem: ${file}: is in UTF-16. There are 1 more; see \`mcp-sandbox-bridge servers\`.`,
  );
});
