// Parameters that a tool marks with `x-mcp-header` are repeated in headers, exactly where the protocol says so.

import { afterEach, describe, expect, it } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import { headerParametersOf, parameterHeaders } from '../../src/servers/server/header-parameters.js';
import { NEVER } from '../support/time.js';
import { call, poolOf, type TestPool } from './hostile.js';
import { modernFar, modernProgram } from './modern-servers.js';

const schemaOf = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const region = { type: 'string', 'x-mcp-header': 'Region' };

describe('the marks of a schema', () => {
  it('are found at any depth of properties, but not in data', () => {
    const schema = schemaOf(
      {
        region,
        deep: schemaOf({ 'a.b': schemaOf({ n: { type: 'integer', 'x-mcp-header': 'N!' } }) }),
        flag: { type: 'boolean', 'x-mcp-header': 'flag' },
        plain: { type: 'number', default: { 'x-mcp-header': 'a b' }, enum: [{ 'x-mcp-header': '' }] },
        'x-mcp-header': { type: 'string' },
      },
      { examples: [{ properties: { a: { 'x-mcp-header': '' } } }] },
    );
    expect(headerParametersOf(schema)).toEqual([
      { path: ['region'], header: 'mcp-param-region' },
      { path: ['deep', 'a.b', 'n'], header: 'mcp-param-n!' },
      { path: ['flag'], header: 'mcp-param-flag' },
    ]);
  });

  it.each([
    [
      'empty',
      { a: { type: 'string', 'x-mcp-header': '' } },
      "the x-mcp-header of 'a' is not the name of a header",
    ],
    ['with a space', { a: { type: 'string', 'x-mcp-header': 'a b' } }, 'not the name of a header: "a b"'],
    ['with a line break', { a: { type: 'string', 'x-mcp-header': 'a\r\nb' } }, 'not the name of a header'],
    ['with a colon', { a: { type: 'string', 'x-mcp-header': 'a:b' } }, 'not the name of a header'],
    ['beyond ASCII', { a: { type: 'string', 'x-mcp-header': 'é' } }, 'not the name of a header'],
    ['no text', { a: { type: 'string', 'x-mcp-header': 7 } }, 'not the name of a header: 7'],
    [
      'twice',
      { a: region, b: { ...region, 'x-mcp-header': 'rEGION' } },
      "of 'b' is that of another parameter",
    ],
    [
      'of a number',
      { a: { type: 'number', 'x-mcp-header': 'A' } },
      'not string, integer or boolean: "number"',
    ],
    ['of a list', { a: { type: 'array', 'x-mcp-header': 'A' } }, 'not string, integer or boolean: "array"'],
    ['of nothing', { a: { 'x-mcp-header': 'A' } }, 'not string, integer or boolean: no type'],
    ['in a list', { a: { type: 'array', items: region } }, "'a' has an x-mcp-header where only"],
    ['in a list of lists', { a: { prefixItems: [region] } }, 'where only `properties`'],
    ['in an alternative', { a: { anyOf: [{ type: 'null' }, region] } }, 'where only `properties`'],
    ['behind an alternative', { a: { oneOf: [schemaOf({ b: region })] } }, 'where only `properties`'],
    ['of any other property', { a: { additionalProperties: region } }, 'where only `properties`'],
    ['by a pattern', { a: { patternProperties: { '^b': region } } }, 'where only `properties`'],
  ])('that are wrong are told: %s', (_what, properties, message) => {
    expect(headerParametersOf(schemaOf(properties))).toContain(message);
  });

  it('that are wrong at the root, in a condition or in a definition are told', () => {
    for (const more of [region, { if: schemaOf({ a: region }) }, { $defs: { r: region } }])
      expect(headerParametersOf(schemaOf({}, more))).toContain('where only `properties`');
  });
});

describe('the headers of a call', () => {
  const headersOf = (text: string) =>
    parameterHeaders([{ path: ['deep', 'a'], header: 'mcp-param-a' }], new RawJson(text))['mcp-param-a'];

  it.each([
    ['"us-west1"', 'us-west1'],
    ['"Hello, 世界"', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    ['" padded "', '=?base64?IHBhZGRlZCA=?='],
    ['"line1\\nline2"', '=?base64?bGluZTEKbGluZTI=?='],
    ['"=?base64?literal?="', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['""', '=?base64??='],
    ['-7', '-7'],
    ['42.0', '42'],
    ['9007199254740991', '9007199254740991'],
    ['true', 'true'],
    ['false', 'false'],
    ['null', undefined],
    ['[1]', undefined],
    ['{"b": 1}', undefined],
  ])('%s is %s', (value, header) => {
    expect(headersOf(`{"deep": {"a": ${value}}}`)).toBe(header);
  });

  it('leave out what is not there, and nothing that is only inherited is there', () => {
    for (const text of ['{}', '{"deep": null}', '{"deep": "a"}', '{"deep": {}}'])
      expect(headersOf(text)).toBeUndefined();
    const inherited = [{ path: ['constructor', 'name'], header: 'mcp-param-a' }];
    expect(parameterHeaders(inherited, new RawJson('{}'))).toEqual({});
  });

  it('refuse an integer that no two parties read alike', () => {
    expect(() => headersOf('{"deep": {"a": 9007199254740993}}')).toThrow(/'deep.a' .* must lie between/);
  });
});

describe('a server that marks parameters', () => {
  let pool: TestPool | undefined;
  afterEach(() => pool?.[Symbol.asyncDispose]());
  const args = { region: 'Zürich', size: { gb: 3 } };
  const headers = { region: '=?base64?WsO8cmljaA==?=', 'size-gb': '3' };

  it('finds them in the headers over HTTP, and its wrongly marked tool is left out and told of', async () => {
    pool = poolOf([await modernFar()]);
    const server = await pool.get('modern', NEVER);
    expect((await call(server, 'marked', args)).structuredContent).toEqual({ params: headers });
    expect((await call(server, 'marked', { region: null })).structuredContent).toEqual({ params: {} });
    expect(server.tools().map(({ name }) => name)).not.toContain('mismarked');
    const problems = [
      expect.stringMatching(/^left out 'mismarked': 'all' has an x-mcp-header, but its type/),
    ];
    expect(server.problems()).toEqual(problems);
    expect(pool.events).toContainEqual({ type: 'downstream.unusable', server: 'modern', problems });
  });

  it('is called once more with headers that it has begun to want', async () => {
    pool = poolOf([await modernFar('late-mark')]);
    const server = await pool.get('modern', NEVER);
    expect((await call(server, 'marked', args)).structuredContent).toEqual({ params: headers });
  });

  it('is called once where another list has no other headers', async () => {
    pool = poolOf([await modernFar('late-mark')]);
    const server = await pool.get('modern', NEVER);
    await expect(call(server, 'marked', {})).rejects.toMatchObject({
      message: 'Mcp-Param-Region is missing',
    });
  });

  it('is told what it cannot be given', async () => {
    pool = poolOf([await modernFar()]);
    const server = await pool.get('modern', NEVER);
    await expect(call(server, 'marked', { size: { gb: 2 ** 60 } })).rejects.toMatchObject({
      code: 'E_TOOL_FAILED',
      fault: 'guest',
      message: expect.stringContaining("'size.gb' is repeated in a header"),
    });
  });

  it.each([
    ['over stdio', async () => modernProgram()],
    ['of 2025 over HTTP', async () => ({ ...(await modernFar()), versionNegotiation: 'legacy' as const })],
  ])('%s keeps all of its tools', async (_how, entryOf) => {
    pool = poolOf([await entryOf()]);
    const server = await pool.get('modern', NEVER);
    expect(await call(server, 'mismarked')).toMatchObject({ content: [{ text: 'called' }] });
    expect(server.problems()).toEqual([]);
  });
});
