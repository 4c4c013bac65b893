// What a person changes in a host's file while the bridge runs counts from the next run on, in each format.

import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  HOSTILE_SERVER,
  npmServer,
  type Payload,
  startBridge,
  type TestBridge,
} from '../support/start-bridge.js';

let bridge: TestBridge;
beforeAll(async () => {
  const { TEST_ROOT = tmpdir() } = process.env;
  bridge = await startBridge({ gate: npmServer('@modelcontextprotocol/server-filesystem', TEST_ROOT) });
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
  write('toml', '# nothing');
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

it('a slip of the pen changes nothing until it is mended, and is named to whoever asks for what stands there', async () => {
  for (const name of NAMES) write(name, FILES[name][1](`${name} before`));
  expect(await marks(NAMES)).toMatchObject({ status: 'success' });
  const file = write('json', FILES.json[1]('x').replace('"args":', '"args"'));
  write('toml', '[mcp_servers.to');
  write('yaml', '');
  expect(await marks(NAMES)).toMatchObject({ result: NAMES.map((name) => `${name} before`) });
  expect(bridge.stderr()).toContain(`${file}:2:`);
  expect(bridge.stderr()).toContain('its last good content stays in use until it can be read');
  expect(await bridge.run('1', { servers: ['new'] })).toMatchObject({
    errorType: 'E_SERVER_UNKNOWN',
    remedy: expect.stringMatching(
      /It may be in a file that has a problem: .*config\.toml:1:2: .* There are 2 more/,
    ),
  });
  for (const name of NAMES) write(name, FILES[name][1](`${name} after`));
  expect(await marks(NAMES)).toMatchObject({ result: NAMES.map((name) => `${name} after`) });
});

it('a bridge that has never read a file well says what is wrong with it', async () => {
  write('json', '{"mcpServers": {"json"');
  await using other = await startBridge({}, { env: { HOME: bridge.home } });
  expect(await other.run('1', { servers: ['json'] })).toMatchObject({
    errorType: 'E_SERVER_UNKNOWN',
    remedy: expect.stringContaining('It may be in a file that has a problem: '),
  });
});

it('a run under way ends with the servers that it began with, and the next one has what is configured then', async () => {
  for (const name of NAMES) write(name, FILES[name][1](`${name} before`));
  const stop = join(bridge.home, 'stop');
  const code = `
import asyncio
from mcp import runtime
seen = []
for n in range(10_000):
    seen = [(await server.pid())["pid"] for server in (mcp_json, mcp_toml, mcp_yaml)]
    if n == 0: first = seen
    runtime.progress(n, 10_000, "going")
    if (await mcp_gate.read_text_file(path=${JSON.stringify(stop)}))["content"].startswith("now"): break
    await asyncio.sleep(0.05)
[first == seen, n > 0, (await mcp_json.env(name="MARK"))["value"]]`;
  writeFileSync(stop, 'not yet');
  let under: Promise<Payload> | undefined;
  await new Promise<void>((resolve) => {
    under = bridge.run(code, { servers: [...NAMES, 'gate'], timeout: 60, onprogress: () => resolve() });
    void under.then(() => resolve());
  });
  write('json', FILES.json[1]('after'));
  write('toml', '# nothing');
  rmSync(join(bridge.home, '.continue'), { recursive: true });
  expect(await marks(['json'])).toMatchObject({ result: ['after'] });
  expect(await marks(['yaml'])).toMatchObject({ errorType: 'E_SERVER_UNKNOWN' });
  writeFileSync(stop, 'now');
  expect(await under).toMatchObject({ status: 'success', result: [true, true, 'json before'] });
});
