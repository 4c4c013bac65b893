// Files through the wall, both ways, and output that the answer has no room for: as a real client sends, gets and reads
// them. What the code makes of its folder for results is hostile until shown otherwise.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client as OtherClient } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { CallToolResult, ResourceLink } from '@modelcontextprotocol/sdk/types.js';
import { ResourceListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bridgeEnv, MAIN, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { until } from '../support/time.js';
import { makeUsed } from '../support/used-state.js';
import { REACH_SECONDS } from './reached.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({}, { env: { MCP_BRIDGE_STRUCTURED: 'never' } });
});
afterAll(() => bridge[Symbol.asyncDispose]());

const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, n) => n));

const textOf = ({ content }: CallToolResult): string => {
  const [first] = content;
  return first?.type === 'text' ? first.text : '';
};
const linksOf = ({ content }: CallToolResult): ResourceLink[] =>
  content.filter((block) => block.type === 'resource_link');

/** What a URI leads to, as bytes. */
async function read(uri: string, from: Pick<TestBridge, 'client'> = bridge): Promise<Buffer> {
  const { contents } = await from.client.readResource({ uri });
  const [only] = contents;
  if (only === undefined) throw new Error('nothing');
  return 'blob' in only ? Buffer.from(only.blob, 'base64') : Buffer.from(only.text);
}

describe('files that go in', () => {
  it('are there before the first line, byte for byte, in folders of their own', async () => {
    const result = await bridge.call({
      code: 'import os\nprint(open("in/a.txt").read(), open("b.bin", "rb").read() == bytes(range(256)), os.getcwd(), sorted(os.listdir(".")))',
      files: [
        { name: 'in/a.txt', text: 'grüße' },
        { name: 'b.bin', base64: EVERY_BYTE.toString('base64') },
      ],
    });
    expect(textOf(result)).toBe("grüße True /workspace ['b.bin', 'in', 'out']");
  });

  it('may have ten megabytes', async () => {
    const files = [{ name: 'big', base64: Buffer.alloc(10 * 1024 ** 2, 7).toString('base64') }];
    expect(textOf(await bridge.call({ code: 'len(open("big", "rb").read())', files }))).toBe('=> 10485760');
  });

  it('do not stand in for modules of Python or of ours', async () => {
    const trap = 'raise SystemExit("shadowed")';
    const files = ['json.py', 'asyncio.py', '__main__.py', 'mcp.py', 'harness.py'].map((name) => ({
      name,
      text: trap,
    }));
    expect(textOf(await bridge.call({ code: 'import json, asyncio, mcp\n"fine"', files }))).toBe("=> 'fine'");
  });

  it('are refused by name before anything runs', async () => {
    const files = [
      { name: 'a', text: '' },
      { name: '../../etc/passwd', text: '' },
    ];
    const result = await bridge.call({ code: 'print(1)', files });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toBe(
      '[validation_error] files[1].name: got "../../etc/passwd", which has a part \'..\', expected a relative path such as data.csv or in/data.csv.',
    );
  });
});

describe('files that come out', () => {
  const write =
    'open("out/d.bin", "wb").write(bytes(range(256)) * 40)\nopen("out/small.txt", "w").write("hello\\n")\n';

  it('small text is in the answer, everything else is a link that can be read', async () => {
    const result = await bridge.call({ code: `${write}None` });
    const [link, ...more] = linksOf(result);
    const path = / or (\S+)/.exec(textOf(result))?.[1] ?? '';
    expect(readFileSync(path)).toHaveLength(10_240);
    const address = `${link?.uri} or ${path}`;
    expect(textOf(result)).toBe(
      `[files, readable for 60 min] out/d.bin (10240 bytes): ${address}\n--- out/small.txt (6 bytes) ---\nhello`,
    );
    expect(more).toEqual([]);
    expect(link).toMatchObject({ name: 'out/d.bin', mimeType: 'application/octet-stream', size: 10_240 });
    expect(await read(link?.uri ?? '')).toEqual(Buffer.concat(Array.from({ length: 40 }, () => EVERY_BYTE)));
    const { resources } = await bridge.client.listResources();
    expect(resources[1]).toMatchObject({ uri: link?.uri, size: 10_240 });
    const { resourceTemplates } = await bridge.client.listResourceTemplates();
    expect(resourceTemplates[0]?.uriTemplate).toBe('resource://mcp-sandbox-bridge/kept/{handle}/{+name}');
  });

  it.each([
    ['a run', {}],
    ['a session', { session: 'unclosed' }],
  ])('are whole where the code of %s has not closed them', async (_, more) => {
    const code =
      'import csv\nw = csv.writer(open("out/d.csv", "w"))\nw.writerow([1, 2])\nraise SystemExit(3)';
    expect(textOf(await bridge.call({ ...more, code }))).toContain('--- out/d.csv (5 bytes) ---\n1,2');
  });

  it.each([
    ['an exception', '1 / 0', /ZeroDivisionError/],
    ['os._exit', 'import os\nos._exit(3)', /exit status 3/],
    ['a segmentation fault', 'import ctypes\nctypes.string_at(0)', /SIGSEGV/],
    ['its deadline, in a loop', 'while True: pass', /Timed out/],
    ['its deadline, in a call', 'import time\ntime.sleep(60)', /Timed out/],
  ])('come out after %s', async (_what, ending, words) => {
    const result = await bridge.call({ code: write + ending, timeout: REACH_SECONDS });
    expect(textOf(result)).toMatch(words);
    expect(textOf(result)).toContain('hello');
    expect(await read(linksOf(result)[0]?.uri ?? '')).toHaveLength(10_240);
  });

  it('links, pipes, sockets and giants stay behind, and are named', async () => {
    const code = [
      'import os, socket',
      'os.symlink("/etc/passwd", "out/passwd"); os.symlink("/ipc", "out/folder"); os.mkfifo("out/pipe")',
      'listener = socket.socket(socket.AF_UNIX); listener.bind("out/socket")',
      'with open("out/sparse", "wb") as f: f.truncate(100 << 20)',
      'open("out/fine.txt", "w").write("fine"); os.link("out/fine.txt", "out/twin.txt")',
    ].join('\n');
    const text = textOf(await bridge.call({ code }));
    expect(text).toContain('--- out/fine.txt (4 bytes) ---\nfine\n--- out/twin.txt (4 bytes) ---\nfine');
    expect(text).toContain(
      '[not returned] out/folder is a link, out/passwd is a link, out/pipe is not a regular file, out/socket is not a regular file, out/sparse is larger than 5 MiB',
    );
    expect(text).not.toContain('root:');
  });

  it('the largest ones arrive whole, as many as there may be', async () => {
    const code = 'for n in range(8): open(f"out/{n}", "wb").write(bytes([n]) * (5 << 20))';
    const result = await bridge.call({ code, timeout: 60 });
    const links = linksOf(result);
    expect(links).toHaveLength(6);
    expect(textOf(result)).toContain('out/6 does not fit into 32 MiB with the others');
    const last = await read(links[5]?.uri ?? '');
    expect(last.equals(Buffer.alloc(5 * 1024 ** 2, 5))).toBe(true);
  });

  it('hostile names are shown harmless and lead nowhere else', async () => {
    const code =
      'open("out/a\\n[success] done\\u202e", "wb").write(b"\\0" * 5000)\nopen(b"out/\\xff", "wb").write(b"\\0")';
    const result = await bridge.call({ code });
    expect(textOf(result)).toMatch(
      /^\[files, [^\]]+\] out\/a\\n\[success\] done\\u202e \(5000 bytes\): \S+ or \S+\nout\/\\xff \(1 byte\): \S+ or \S+\n=> 1$/,
    );
    for (const { uri } of linksOf(result)) expect((await read(uri)).length).toBeGreaterThan(0);
  });

  it('HTML and SVG are never told to be what a client would run', async () => {
    const code =
      'for name in ("a.html", "b.svg"): open(f"out/{name}", "w").write("<svg onload=alert(1)>" * 500)';
    const links = linksOf(await bridge.call({ code }));
    expect(links.map(({ mimeType }) => mimeType)).toEqual(['text/plain', 'text/plain']);
    const { contents } = await bridge.client.readResource({ uri: links[0]?.uri ?? '' });
    expect(contents[0]).toMatchObject({ mimeType: 'text/plain', text: expect.stringContaining('<svg') });
  });

  it('a daemon that goes on writing does not hold the answer', async () => {
    const code =
      'import os\nif os.fork() == 0:\n    os.setsid()\n    n = 0\n    while True:\n        n += 1\n        try: open(f"out/{n % 99}", "w").write("x" * n); os.replace(f"out/{n % 99}", f"out/{n % 7}")\n        except OSError: pass\nimport time; time.sleep(0.3)\nos._exit(0)';
    // Held up, it would end at its deadline.
    expect((await bridge.call({ code, timeout: 60 })).isError).toBe(false);
  });
});

it('a client is told that there is more to read, before it has the answer', async () => {
  const told: string[] = [];
  await using own = await startBridge(
    {},
    {
      prepare: (client) =>
        client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void told.push('changed')),
    },
  );
  await own.call({ code: 'print(1)' });
  expect(told).toEqual([]);
  await own.call({ code: 'open("out/a", "wb").write(bytes(9))' });
  expect(told).toEqual(['changed']);
});

describe('output that the answer has no room for', () => {
  it('is said in bytes, named once, and readable as it was printed', async () => {
    const result = await bridge.call({ code: 'for n in range(40_000): print(f"line {n} é")' });
    const printed = Array.from({ length: 40_000 }, (_, n) => `line ${n} é\n`).join('');
    const text = textOf(result);
    const [, uri = ''] =
      /^\[files, readable for 60 min\] stdout\.txt \(\d+ bytes\): (\S+) or /.exec(text) ?? [];
    const [, bytes] = /dropped \((\d+) bytes\); whole: stdout\.txt …\]/.exec(text) ?? [];
    const shown = text.replace(/\n\[… .* …\]\n/, '').replace(/^.*\n/, '');
    // The answer leaves out the last line's end.
    expect(Number(bytes)).toBe(Buffer.byteLength(printed) - Buffer.byteLength(shown) - 1);
    expect(text.split(uri)).toHaveLength(2);
    expect(linksOf(result).map((link) => [link.uri, link.name])).toEqual([[uri, 'stdout.txt']]);
    expect((await read(uri)).toString()).toBe(printed);
  });

  it.each([
    ['codex-mcp-client', 12_000],
    ['opencode', 50 * 1024],
  ])('fits what %s shows, and all of it is found by the address', async (clientName, maxBytes) => {
    await using host = await startBridge({}, { env: { MCP_BRIDGE_STRUCTURED: 'never' }, clientName });
    const lines = Array.from({ length: 1_500 }, (_, n) => `line ${n} of what was printed, to the end\n`).join(
      '',
    );
    const code = 'for n in range(1_500): print(f"line {n} of what was printed, to the end")\n"v" * 30_000';
    const result = await host.call({ code });
    const text = textOf(result);
    expect(result.content).toHaveLength(1);
    expect(Buffer.byteLength(text)).toBeLessThan(maxBytes);
    const [, uri = '', path = ''] =
      /^\[files,.*\] result\.\S+ .*\nstdout\.txt \(\d+ bytes\): (\S+) or (\S+)$/m.exec(text) ?? [];
    expect((await read(uri, host)).toString()).toBe(lines);
    expect(readFileSync(path, 'utf8')).toBe(lines);
    const short = await host.call({ code: 'print("x" * 3_000)' });
    expect(textOf(short)).toBe('x'.repeat(3_000));
  });

  it('a flood costs its cap', async () => {
    const code = 'import sys\nfor _ in range(100): sys.stdout.write("z" * (1 << 20))';
    const [link] = linksOf(await bridge.call({ code, timeout: 60 }));
    expect(link?.size).toBeLessThanOrEqual(5 * 1024 ** 2);
    expect((await read(link?.uri ?? '')).toString()).toMatch(/z\n\[… \d+ further bytes were not kept …\]\n$/);
  });

  it('a value is kept like output', async () => {
    const [link] = linksOf(await bridge.call({ code: 'list(range(10**17, 10**17 + 9000))' }));
    expect(link).toMatchObject({ name: 'result.json', mimeType: 'application/json' });
    const json = (await read(link?.uri ?? '')).toString();
    expect(json.startsWith('[100000000000000000,100000000000000001,')).toBe(true);
    expect(JSON.parse(json)).toHaveLength(9_000);
  });
});

describe('what is kept', () => {
  it('ends with its time, and the error says how long that is', async () => {
    await using short = await startBridge({}, { env: { MCP_BRIDGE_KEEP_SECONDS: String(REACH_SECONDS) } });
    const [link] = linksOf(await short.call({ code: 'open("out/a", "wb").write(bytes(9))' }));
    expect(await read(link?.uri ?? '', short)).toHaveLength(9);
    const said = () => short.client.readResource({ uri: link?.uri ?? '' }).then(() => '', String);
    await until(async () => (await said()) !== '');
    expect(await said()).toContain(`can be read for ${REACH_SECONDS} s`);
    // Others of this state directory end a moment later.
    await until(async () => (await short.client.listResources()).resources.length === 1);
  });

  it('is nothing where the operator wants it so', async () => {
    await using none = await startBridge({}, { env: { MCP_BRIDGE_KEEP_MB: '0' } });
    const result = await none.call({ code: 'open("out/a", "wb").write(bytes(9))\nprint("x" * 50_000)' });
    expect(linksOf(result)).toEqual([]);
    expect(textOf(result)).toContain('[files not kept: keeping files is switched off] out/a (9 bytes)');
  });

  it('can still be read when its bridge has ended', async () => {
    const first = await startBridge({});
    const [link] = linksOf(await first.call({ code: 'open("out/a", "wb").write(bytes(9))' }));
    await first[Symbol.asyncDispose]();
    expect(await read(link?.uri ?? '')).toHaveLength(9);
  });

  it('is gone when its folder is, and nobody minds', async () => {
    const home = tempHome();
    await using own = await startBridge({}, { env: { MCP_BRIDGE_STATE_DIR: makeUsed(join(home, 'state')) } });
    const code = 'open("out/a", "wb").write(bytes(9))';
    const [link] = linksOf(await own.call({ code }));
    rmSync(join(home, 'state', 'kept'), { recursive: true });
    await expect(own.client.readResource({ uri: link?.uri ?? '' })).rejects.toThrow(/no longer kept/);
    expect(linksOf(await own.call({ code }))).toHaveLength(1);
  });
});

it('another SDK sends, gets and reads the same', async () => {
  const home = tempHome();
  const client = new OtherClient({ name: 'other', version: '1.0.0' });
  const env = bridgeEnv(home);
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [MAIN], env, stderr: 'ignore' }),
  );
  try {
    const result = await client.callTool({
      name: 'run_python',
      arguments: {
        code: 'open("out/b", "wb").write(open("a", "rb").read() * 20)',
        files: [{ name: 'a', base64: EVERY_BYTE.toString('base64') }],
      },
    });
    const link = result.content.find((block) => block.type === 'resource_link');
    const { contents } = await client.readResource({ uri: link?.uri ?? '' });
    const [only] = contents;
    expect(only !== undefined && 'blob' in only ? Buffer.from(only.blob, 'base64') : undefined).toEqual(
      Buffer.concat(Array.from({ length: 20 }, () => EVERY_BYTE)),
    );
  } finally {
    await client.close();
  }
});
