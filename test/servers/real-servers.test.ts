import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toServerDoc } from '../../src/servers/catalog/catalog.js';
import { searchTools } from '../../src/servers/catalog/search.js';
import { NEVER } from '../support/time.js';
import { call, poolOf, spec, type TestPool } from './hostile.js';

const require = createRequire(import.meta.url);

/** The server's own program, started by this Node: npx would add half a second and a process to every test. */
function packaged(name: string, ...args: string[]) {
  const manifest = require.resolve(`@modelcontextprotocol/server-${name}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> };
  const [program = ''] = Object.values(bin);
  return spec(name, process.execPath, [path.join(path.dirname(manifest), program), ...args]);
}

let folder: string;
let pool: TestPool;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'downstream-test-'));
  writeFileSync(path.join(folder, 'note.txt'), 'hello from a file');
  pool = poolOf([
    packaged('everything'),
    packaged('filesystem', folder),
    { ...packaged('memory'), env: { MEMORY_FILE_PATH: path.join(folder, 'memory.json') } },
  ]);
});

afterAll(async () => {
  await pool[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

it('the three reference servers work side by side', async () => {
  const names = ['everything', 'filesystem', 'memory'];
  const [everything, filesystem, memory] = await Promise.all(names.map((name) => pool.get(name, NEVER)));
  if (!everything || !filesystem || !memory) throw new Error('not all are there');
  expect(await call(everything, 'echo', { message: 'hi' })).toMatchObject({
    content: [{ text: 'Echo: hi' }],
  });
  const note = await call(filesystem, 'read_text_file', { path: path.join(folder, 'note.txt') });
  expect(note.content[0]?.text).toBe('hello from a file');
  const entity = { name: 'bridge', entityType: 'software', observations: ['small'] };
  await call(memory, 'create_entities', { entities: [entity] });
  expect((await call(memory, 'read_graph')).structuredContent).toMatchObject({ entities: [entity] });

  const docs = [everything, filesystem, memory].map((server) =>
    toServerDoc(server, server.spec.name, () => undefined),
  );
  expect(docs.map(({ tools }) => tools.length)).toEqual([13, 14, 9]);
  expect(searchTools(docs, 'read text file', 1)).toMatchObject([
    { server: { name: 'filesystem' }, tool: { name: 'read_text_file' } },
  ]);
});
