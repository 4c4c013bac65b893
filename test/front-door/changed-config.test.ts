// What a person changes in a host's file while the bridge runs counts from the next run on, in each format.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HOSTILE_SERVER, startBridge, type TestBridge } from '../support/start-bridge.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({});
});
afterAll(() => bridge[Symbol.asyncDispose]());

const NODE = process.execPath;
const FILES = {
  json: [
    '.cursor/mcp.json',
    (mark: string) =>
      `{ // by hand\n"mcpServers": {"json": {"command": "${NODE}", "args": ["${HOSTILE_SERVER}"], "env": {"MARK": "${mark}"}},}}`,
  ],
  toml: [
    '.codex/config.toml',
    (mark: string) =>
      `[mcp_servers.toml]\ncommand = "${NODE}"\nargs = ["${HOSTILE_SERVER}"]\nenv = { MARK = "${mark}" }\n`,
  ],
  yaml: [
    '.continue/config.yaml',
    (mark: string) =>
      `mcpServers:\n  - {name: yaml, command: ${NODE}, args: ["${HOSTILE_SERVER}"], env: {MARK: ${mark}}}\n`,
  ],
} as const;
type Name = keyof typeof FILES;
const NAMES = Object.keys(FILES) as Name[];

function write(name: Name, text: string): string {
  const file = join(bridge.home, FILES[name][0]);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

const marks = (servers: readonly Name[]) => {
  const asked = servers.map((name) => `(await mcp_${name}.env(name="MARK"))["value"]`).join(', ');
  return bridge.run(`[${asked}]`, { servers });
};

it('counts from the next run on', async () => {
  for (const round of ['first', 'second']) {
    for (const name of NAMES) write(name, FILES[name][1](`${name} ${round}`));
    expect(await marks(NAMES)).toMatchObject({
      status: 'success',
      result: NAMES.map((name) => `${name} ${round}`),
    });
  }
});

it('one that is removed, switched off or in a file that others may write is gone, with the reason', async () => {
  for (const name of NAMES) write(name, FILES[name][1](`${name} third`));
  expect(await marks(NAMES)).toMatchObject({ status: 'success' });

  write('toml', FILES.toml[1]('x').replace('env', 'enabled = false\nenv'));
  expect(await marks(['toml'])).toMatchObject({
    errorType: 'E_SERVER_UNKNOWN',
    error: "servers: 'toml' is configured but not started: disabled in its file",
    remedy: 'Switch it on in Codex.',
  });
  write('toml', '');
  const absent = await marks(['toml']);
  expect(absent).toMatchObject({ error: expect.stringContaining("there is no server 'toml'") });
  expect(absent.remedy).toBeUndefined();

  const file = write('yaml', FILES.yaml[1]('x'));
  chmodSync(file, 0o660);
  expect(await marks(['yaml'])).toMatchObject({
    errorType: 'E_SERVER_UNKNOWN',
    remedy: expect.stringContaining(`run: chmod go-w '${file}'`),
  });
  expect(await marks(['json'])).toMatchObject({ status: 'success', result: ['json third'] });

  chmodSync(file, 0o600);
  expect(await marks(['yaml'])).toMatchObject({ status: 'success', result: ['x'] });
});

it('a slip of the pen costs its own file, and is named to whoever asks for what stood there', async () => {
  const file = write('json', FILES.json[1]('x').replace('"args":', '"args"'));
  expect(await marks(['json'])).toMatchObject({
    errorType: 'E_SERVER_UNKNOWN',
    remedy: expect.stringContaining(`It may stand in a file that is not used: ${file}:2:`),
  });
  expect(await marks(['yaml'])).toMatchObject({ status: 'success' });
});
