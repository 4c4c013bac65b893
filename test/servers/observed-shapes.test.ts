import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { answerShape, ObservedShapes } from '../../src/servers/catalog/observed-shapes.js';
import type { ServerTool } from '../../src/servers/server/tool-list.js';
import { hostile } from './hostile.js';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'shapes-test-'));
});
afterEach(() => rmSync(state, { recursive: true }));

const tool = (name: string, outputSchema?: Record<string, unknown>): ServerTool => ({
  name,
  description: '',
  inputSchema: {},
  outputSchema,
  needsTask: false,
});
const server = (over: { serverVersion?: string; env?: Record<string, string>; args?: string[] } = {}) => ({
  spec: { ...hostile(), env: over.env ?? {}, ...(over.args === undefined ? {} : { args: over.args }) },
  serverVersion: over.serverVersion ?? '1',
  tools: () => [tool('get'), tool('__proto__'), tool('said', { type: 'object' })],
});
const text = (value: string) => JSON.stringify({ content: [{ type: 'text', text: value }] });
const data = (value: unknown) => JSON.stringify({ content: [], structuredContent: value });
const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const folder = () => join(state, 'cache', 'shapes');
const files = () => (existsSync(folder()) ? readdirSync(folder()) : []);

async function learn(shapes: ObservedShapes, ...results: readonly string[]): Promise<void> {
  for (const result of results) shapes.learn(server(), 'get', result);
  await settled();
}

it.each([
  [data({ a: 1 }), { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }],
  [text('{"a": 1}'), { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }],
  [text(' [1, 2.5] '), { type: 'array', items: { type: 'number' } }],
  [text('Hello.'), { type: 'string' }],
  [text('{not json'), { type: 'string' }],
  [text('12'), { type: 'integer' }],
  [text('12345678901234567890'), { type: 'integer' }],
  [text('1.5'), { type: 'number' }],
  [text('1.10'), { type: 'string' }],
  [text('true'), { type: 'boolean' }],
  [
    '{"content":[],"structuredContent":{"n":12345678901234567890}}',
    expect.objectContaining({ type: 'object' }),
  ],
  [JSON.stringify({ isError: true, content: [{ type: 'text', text: '{}' }] }), undefined],
  [JSON.stringify({ content: [{ type: 'image', data: '', mimeType: 'image/png' }] }), undefined],
  [
    JSON.stringify({
      content: [
        { type: 'text', text: '{}' },
        { type: 'text', text: '{}' },
      ],
    }),
    undefined,
  ],
  ['{"content":"12"}', { type: 'integer' }],
  ['{"content":{"type":"text","text":"Hello."}}', { type: 'string' }],
  ['{"content":7}', undefined],
  ['null', undefined],
  ['{', undefined],
  [`{"structuredContent":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, expect.anything()],
])('the shape of what %.60s gives in Python', (result, shape) => {
  expect(answerShape(result)).toEqual(shape);
});

it('what was learned is known to the next bridge, and only its owner can read it', async () => {
  const first = new ObservedShapes(state);
  await learn(first, data({ id: 1, url: 'secret' }), data({ id: 2 }));
  first.learn(server(), '__proto__', text('x'));
  await settled();
  first[Symbol.dispose]();
  const [name = ''] = files();
  expect(files()).toHaveLength(1);
  expect(statSync(join(folder(), name)).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder(), name), 'utf8')).not.toContain('secret');
  const known = new ObservedShapes(state).of(server());
  expect(known('get')).toMatchObject({ properties: { id: {}, url: {} }, required: ['id'] });
  expect(known('__proto__')).toEqual({ type: 'string' });
  expect(known('other')).toBeUndefined();
});

it('a definition has its own shapes, whatever its environment; another version starts anew', async () => {
  const shapes = new ObservedShapes(state);
  await learn(shapes, text('x'));
  shapes[Symbol.dispose]();
  const later = new ObservedShapes(state);
  expect(later.of(server({ env: { TOKEN: 'x' } }))('get')).toEqual({ type: 'string' });
  expect(later.of(server({ args: ['other'] }))('get')).toBeUndefined();
  expect(later.of(server({ serverVersion: '2' }))('get')).toBeUndefined();
});

it('a tool with an output schema, and what is large, are not looked at', async () => {
  const shapes = new ObservedShapes(state);
  shapes.learn(server(), 'said', data({ a: 1 }));
  shapes.learn(server(), 'get', text('x'.repeat(70_000)));
  await settled();
  expect([shapes.of(server())('said'), shapes.of(server())('get')]).toEqual([undefined, undefined]);
});

it('after a few answers of one shape it looks no more, in later bridges too', async () => {
  const shapes = new ObservedShapes(state);
  for (let n = 0; n < 5; n++) await learn(shapes, data({ id: n }));
  await learn(shapes, text('other'));
  expect(shapes.of(server())('get')).toMatchObject({ type: 'object' });
  shapes[Symbol.dispose]();
  const later = new ObservedShapes(state);
  await learn(later, text('other'));
  expect(later.of(server())('get')).toMatchObject({ type: 'object' });
});

it('a tool that always fails is left alone in the end', async () => {
  const shapes = new ObservedShapes(state);
  const failure = JSON.stringify({ isError: true, content: [] });
  await learn(shapes, ...Array.from({ length: 60 }, () => failure));
  await learn(shapes, data({ a: 1 }));
  expect(shapes.of(server())('get')).toBeUndefined();
});

it('a file that is damaged, foreign or too large is passed over and made anew', async () => {
  const shapes = new ObservedShapes(state);
  await learn(shapes, text('x'));
  shapes[Symbol.dispose]();
  const path = join(folder(), files()[0] ?? '');
  for (const wrong of [
    '',
    '{',
    '[]',
    '{"version":"1","tools":5}',
    '{"version":"1","tools":{"get":{"shape":7}}}',
    ' '.repeat(300_000),
  ]) {
    writeFileSync(path, wrong);
    const next = new ObservedShapes(state);
    expect(next.of(server())('get')).toBeUndefined();
    await learn(next, text('x'));
    next[Symbol.dispose]();
    expect(new ObservedShapes(state).of(server())('get')).toEqual({ type: 'string' });
  }
  expect(files()).toHaveLength(1);
});

it('a file stays small, however many tools a server has', async () => {
  const shapes = new ObservedShapes(state);
  const wide = Object.fromEntries(
    Array.from({ length: 38 }, (_, n) => [`k${'x'.repeat(n)}`, n % 2 ? n : '']),
  );
  const many = Array.from({ length: 400 }, (_, n) => tool(`tool_${n}`));
  const big = { ...server(), tools: () => many };
  for (const { name } of many) shapes.learn(big, name, data(wide));
  await settled();
  shapes[Symbol.dispose]();
  expect(statSync(join(folder(), files()[0] ?? '')).size).toBeLessThan(256 * 1024);
  expect(new ObservedShapes(state).of(big)('tool_0')).toMatchObject({ type: 'object' });
});

it('a state directory that cannot be written switches learning off, and costs nothing else', async () => {
  writeFileSync(join(state, 'cache'), '');
  const shapes = new ObservedShapes(state);
  await learn(shapes, text('x'));
  expect(() => shapes[Symbol.dispose]()).not.toThrow();
  await learn(shapes, data({}), data({ a: 1 }));
  expect(shapes.of(server())('get')).toEqual({ type: 'string' });
});
