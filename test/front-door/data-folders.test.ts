// Folders of this machine that code sees in place (MCP_BRIDGE_DATA), through the real bridge and real containers.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imageOf, isBuilt } from '../support/built-image.js';
import { engineCommand, engineUnderTest } from '../support/engine-under-test.js';
import { startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';

const MB = 1024 ** 2;
const LOTS_OF_SECONDS = 120;
const isRoot = process.getuid?.() === 0;
/** Whoever code writes as: nobody does so as root. */
const OWNER = isRoot ? 1000 : (process.getuid?.() ?? 0);

function folder(...parts: readonly string[]): string {
  const path = join(...parts);
  mkdirSync(path, { mode: 0o755 });
  return path;
}

/** 40 MB of lines `region,amount`. Each region has as many as any other. */
function writeSales(path: string): { readonly rows: number; readonly sums: Record<string, number> } {
  const regions = ['north', 'south', 'east', 'west'];
  const file = openSync(path, 'w', 0o644);
  writeSync(file, 'region,amount,comment\n');
  const sums: Record<string, number> = Object.fromEntries(regions.map((region) => [region, 0]));
  let rows = 0;
  for (let bytes = 0; bytes < 40 * MB; ) {
    const lines = Array.from({ length: 10_000 }, () => {
      const region = regions[rows % 4] ?? '';
      sums[region] = (sums[region] ?? 0) + (rows % 97);
      return `${region},${rows++ % 97},${'a comment of some length that nobody reads '.repeat(2)}\n`;
    });
    bytes += writeSync(file, lines.join(''));
  }
  closeSync(file);
  return { rows, sums };
}

/** Nothing of this machine is mounted where the engine runs elsewhere: code reads a copy there. */
describe.runIf(engineUnderTest.kind !== 'local')('on an engine elsewhere', () => {
  it('code reads a copy of the folder, which follows its changes and is gone with the bridge', async () => {
    const data = folder(tempHome(), 'data');
    const { rows } = writeSales(join(data, 'sales.csv'));
    mkdirSync(join(data, 'below'), { mode: 0o755 });
    writeFileSync(join(data, 'below', 'small.txt'), 'one');
    symlinkSync('/etc/hostname', join(data, 'link'));
    const before = engineCommand('volume', 'ls', '--quiet');
    {
      await using bridge = await startBridge({}, { env: { MCP_BRIDGE_DATA: data } });
      const count = 'sum(1 for _ in open("/data/sales.csv")) - 1';
      expect(await bridge.run(count)).toMatchObject({ status: 'success', result: rows });
      const small = 'open("/data/below/small.txt").read()';
      expect(await bridge.run(small)).toMatchObject({ status: 'success', result: 'one' });
      writeFileSync(join(data, 'below', 'small.txt'), 'two');
      expect(await bridge.run(small)).toMatchObject({ status: 'success', result: 'two' });
      expect(await bridge.run('open("/data/below/small.txt", "w")')).toMatchObject({ status: 'error' });
      expect(await bridge.run('import os; os.readlink("/data/link")')).toMatchObject({
        result: '/etc/hostname',
      });
    }
    expect(engineCommand('volume', 'ls', '--quiet')).toEqual(before);
  });

  it('nothing runs with a folder that code may write, and the error says what to do instead', async () => {
    const data = folder(tempHome(), 'data');
    if (isRoot) chownSync(data, OWNER, OWNER);
    await using bridge = await startBridge({}, { env: { MCP_BRIDGE_DATA: `${data}:rw` } });
    expect(await bridge.run('1')).toMatchObject({
      status: 'error',
      errorType: 'E_DATA',
      error: expect.stringContaining('would not come back'),
      remedy: expect.stringContaining('/output'),
    });
  });

  it('nothing runs with a folder of very many files, and the error says how many may be copied', async () => {
    const data = folder(tempHome(), 'data');
    for (let n = 0; n <= 10_000; n++) writeFileSync(join(data, String(n)), '');
    await using bridge = await startBridge({}, { env: { MCP_BRIDGE_DATA: data } });
    expect(await bridge.run('1')).toMatchObject({
      status: 'error',
      errorType: 'E_DATA',
      error: expect.stringContaining('10000 files'),
    });
  });
});

describe.runIf(engineUnderTest.kind === 'local')('one folder', () => {
  let home: string;
  let data: string;
  let bridge: TestBridge;
  let sales: ReturnType<typeof writeSales>;

  beforeAll(async () => {
    home = tempHome();
    data = folder(home, 'data');
    writeFileSync(join(home, 'secret.txt'), 'secret');
    sales = writeSales(join(data, 'sales.csv'));
    writeFileSync(join(data, 'large.bin'), '');
    truncateSync(join(data, 'large.bin'), 2 * 1024 * MB);
    const file = openSync(join(data, 'large.bin'), 'r+');
    writeSync(file, 'the end', 2 * 1024 * MB - 7);
    closeSync(file);
    symlinkSync(join(home, 'secret.txt'), join(data, 'absolute'));
    symlinkSync('../secret.txt', join(data, 'relative'));
    symlinkSync('/', join(data, 'root'));
    writeFileSync(join(data, 'private.txt'), 'mine', { mode: 0o600 });
    writeFileSync(join(data, 'tool'), '#!/bin/sh\nexit 0\n');
    chmodSync(join(data, 'tool'), 0o755);
    bridge = await startBridge(
      {},
      { env: { MCP_BRIDGE_DATA: data, MCP_BRIDGE_TOOLS: 'run_python,execute_code' } },
    );
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  it('the model is told of it in a line of each tool, and nothing else of the tools changes', async () => {
    await using plain = await startBridge({}, { env: { MCP_BRIDGE_TOOLS: 'run_python,execute_code' } });
    const toolsOf = async ({ client }: TestBridge) => (await client.listTools()).tools;
    const [told, before] = [await toolsOf(bridge), await toolsOf(plain)];
    for (const [at, { description = '' }] of told.entries()) {
      const line = description.split('\n').at(-1) ?? '';
      expect(line).toContain("The user's files: /data, read-only.");
      expect({ ...told[at], description: description.slice(0, -line.length - 1) }).toEqual(before[at]);
    }
  });

  it('is listed by runtime.data()', async () => {
    expect(await bridge.run('runtime.data()')).toMatchObject({
      status: 'success',
      result: [{ path: '/data', writable: false, entries: 7, more: false }],
    });
  });

  it('a CSV of 40 MB is grouped where it lies', async () => {
    const code = `
import csv
sums, rows = {}, 0
with open("/data/sales.csv", newline="") as file:
    lines = csv.reader(file)
    next(lines)
    for region, amount, _ in lines:
        sums[region] = sums.get(region, 0) + int(amount)
        rows += 1
{"rows": rows, "sums": sums}
`;
    expect(await bridge.run(code, { timeout: LOTS_OF_SECONDS })).toMatchObject({
      status: 'success',
      result: sales,
    });
  });

  it.runIf(isBuilt('data'))('is read by pandas, which groups the same file', async () => {
    await using withPandas = await startBridge(
      {},
      { env: { MCP_BRIDGE_DATA: data, MCP_BRIDGE_IMAGE: 'data', MCP_BRIDGE_WARM: '0' } },
    );
    const code = `
import pandas as pd
frame = pd.read_csv("/data/sales.csv", usecols=["region", "amount"])
{"rows": len(frame), "sums": {k: int(v) for k, v in frame.groupby("region").amount.sum().items()}}
`;
    expect(await withPandas.run(code, { timeout: LOTS_OF_SECONDS })).toMatchObject({
      status: 'success',
      result: sales,
    });
  });

  it('a file of 2 GB is there at once, and is read where the code wants', async () => {
    const code = `
import os
with open("/data/large.bin", "rb") as file:
    file.seek(-7, os.SEEK_END)
    end = file.read()
[os.path.getsize("/data/large.bin"), end.decode()]
`;
    expect(await bridge.run(code)).toMatchObject({ result: [2 * 1024 * MB, 'the end'] });
  });

  it('code writes nothing there, runs nothing there, and no link of it leads anywhere', async () => {
    const code = `
import subprocess
def held(work):
    try:
        return str(work())
    except OSError as error:
        return type(error).__name__ + " " + str(error.errno)
[
    held(lambda: open("/data/new", "w")),
    held(lambda: open("/data/sales.csv", "r+")),
    held(lambda: os.unlink("/data/sales.csv")),
    held(lambda: os.rename("/data", "/workspace/data")),
    held(lambda: os.link("/data/sales.csv", "/workspace/mine")),
    held(lambda: subprocess.run(["/data/tool"])),
    held(lambda: open("/data/absolute").read()),
    held(lambda: open("/data/relative").read()),
    held(lambda: open("/data/private.txt").read()),
    sorted(os.listdir("/data/root")) == sorted(os.listdir("/")),
]
`;
    const { result } = await bridge.run(`import os\n${code}`);
    const [EACCES, ENOENT, EROFS] = [13, 2, 30];
    expect(result).toEqual([
      `OSError ${EROFS}`,
      `PermissionError ${EACCES}`,
      `OSError ${EROFS}`,
      expect.stringMatching(/OSError (?:16|18|30)|PermissionError/),
      expect.stringMatching(/OSError (?:18|30)/),
      `PermissionError ${EACCES}`,
      `FileNotFoundError ${ENOENT}`,
      `FileNotFoundError ${ENOENT}`,
      `PermissionError ${EACCES}`,
      true,
    ]);
  });

  it('a file that its owner alone may read is told with the command that opens it', async () => {
    expect(await bridge.run('open("/data/private.txt")')).toMatchObject({
      status: 'error',
      errorType: 'PermissionError',
      remedy: expect.stringMatching(/`chmod o\+r \S*\/private\.txt`/),
    });
  });

  it('sessions and programs of other languages see the same', async () => {
    const code = 'import os; os.path.getsize("/data/large.bin")';
    const called = await bridge.call({ code, session: 's' });
    expect(called.structuredContent).toMatchObject({ result: 2 * 1024 * MB });
    const program = await bridge.client.callTool({
      name: 'execute_code',
      arguments: {
        language: 'python',
        entrypoint_code: 'import os\nprint(os.environ["MCP_DATA_FOLDERS"], len(os.listdir("/data")))',
      },
    });
    expect(JSON.stringify(program.structuredContent)).toMatch(/path.{4,12}\/data.*7/);
  });

  it('the audit names what a run could see', async () => {
    await bridge.run('"audited"');
    const text = readdirSync(join(bridge.stateDir, 'audit'))
      .map((name) => readFileSync(join(bridge.stateDir, 'audit', name), 'utf8'))
      .join('');
    expect(text).toContain('"data":["/data"]');
  });

  it('what is exchanged for a link is not followed, and another folder is seen by the next run', async () => {
    const names = 'import os; sorted(os.listdir("/data"))';
    const moved = join(home, 'moved');
    expect(await bridge.run('1')).toMatchObject({ status: 'success' });
    renameSync(data, moved);
    const other = folder(home, 'other');
    symlinkSync(other, data);
    expect(await bridge.run(names)).toMatchObject({
      status: 'error',
      errorType: 'E_DATA',
      error: expect.stringContaining('exchanged for a link'),
    });
    rmSync(data);
    mkdirSync(data, { mode: 0o755 });
    writeFileSync(join(data, 'new.csv'), '');
    expect(await bridge.run(names)).toMatchObject({ result: ['new.csv'] });
    rmSync(data, { recursive: true });
    renameSync(moved, data);
    expect(await bridge.run('import os; len(os.listdir("/data"))')).toMatchObject({ result: 7 });
  });
});

describe.runIf(engineUnderTest.kind === 'local')('several folders', () => {
  it('each has its name, and what code writes belongs to the owner of the folder', async () => {
    const home = tempHome();
    const [sales, out] = [folder(home, 'sales'), folder(home, 'results')];
    writeFileSync(join(sales, 'a.csv'), 'a');
    // Root's bridge may write as another user, whom the folder then belongs to.
    if (isRoot) chownSync(out, OWNER, OWNER);
    const env = { MCP_BRIDGE_DATA: `${sales},${out}:out:rw`, MCP_BRIDGE_WARM: '0' };
    await using bridge = await startBridge({}, { env });
    const { tools } = await bridge.client.listTools();
    expect(tools[0]?.description).toContain("The user's files: /data/sales, /data/out (writable).");
    const code = `
import os
os.mkdir("/data/out/deep")
open("/data/out/deep/report.csv", "w").write("1,2")
try:
    open("/data/sales/x", "w")
    held = "written"
except OSError as error:
    held = error.errno
[sorted(os.listdir("/data")), open("/data/sales/a.csv").read(), held, os.getuid() != 0]
`;
    expect(await bridge.run(code)).toMatchObject({ result: [['out', 'sales'], 'a', 30, true] });
    const report = join(out, 'deep', 'report.csv');
    expect(readFileSync(report, 'utf8')).toBe('1,2');
    expect(statSync(report).uid).toBe(OWNER);
    if (isRoot) for (const path of [report, join(out, 'deep')]) expect(statSync(path).gid).toBe(OWNER);
  });
});

describe.runIf(engineUnderTest.kind === 'local')('in the moment in which a sandbox is made', () => {
  it('a folder that is exchanged before the engine mounts it is seen by no code', async () => {
    const home = tempHome();
    const data = folder(home, 'data');
    const secret = folder(home, 'secret');
    for (const path of [data, secret]) writeFileSync(join(path, 'which'), path);
    const trigger = join(home, 'trigger');
    const client = join(home, 'podman');
    // Where the trigger is, the client exchanges the folder for a link and then starts what it was told to.
    const exchange = `case " $* " in *" run "*) rm '${trigger}' 2>/dev/null && mv '${data}' '${data}.away' && ln -s '${secret}' '${data}';; esac`;
    writeFileSync(client, `#!/bin/sh\n${exchange}\nexec podman "$@"\n`, { mode: 0o755 });
    const env = { MCP_BRIDGE_DATA: data, MCP_BRIDGE_RUNTIME: client, MCP_BRIDGE_WARM: '0' };
    await using bridge = await startBridge({}, { env });
    const which = 'open("/data/which").read()';
    expect(await bridge.run(which)).toMatchObject({ result: data });
    writeFileSync(trigger, '');
    expect(await bridge.run(which)).toMatchObject({
      status: 'error',
      errorType: 'E_DATA',
      error: expect.stringContaining('was exchanged while'),
    });
    // The control: this is what the engine makes of it where nobody looks at what was mounted.
    rmSync(data);
    renameSync(`${data}.away`, data);
    writeFileSync(trigger, '');
    const args = [
      'run',
      '--rm',
      '--network=none',
      '--ulimit=nofile=1024:1024',
      '--ulimit=nproc=128:128',
      `--volume=${data}:/data:ro`,
      imageOf('base'),
      'cat',
      '/data/which',
    ];
    expect(execFileSync(client, args, { encoding: 'utf8' })).toBe(secret);
  });

  it.runIf(isRoot)(
    'what is mounted below a folder is not seen, and a folder that has it is refused',
    async () => {
      const home = tempHome();
      const data = folder(home, 'data');
      const below = folder(data, 'below');
      writeFileSync(join(below, 'own'), '');
      await using bridge = await startBridge({}, { env: { MCP_BRIDGE_DATA: data, MCP_BRIDGE_WARM: '0' } });
      const list = async (session?: string) => {
        const args = { code: 'import os; os.listdir("/data/below")', ...(session ? { session } : {}) };
        return (await bridge.call(args)).structuredContent;
      };
      expect(await list('before')).toMatchObject({ result: ['own'] });
      execFileSync('mount', ['-t', 'tmpfs', 'none', below]);
      try {
        writeFileSync(join(below, 'mounted'), '');
        expect(await list('before')).toMatchObject({ result: ['own'] });
        expect(await list()).toMatchObject({
          errorType: 'E_DATA',
          error: expect.stringContaining(`mounted below it, at '${below}'`),
        });
      } finally {
        execFileSync('umount', [below]);
      }
    },
  );
});
