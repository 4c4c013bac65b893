// MCP tools from JavaScript, as a program sees them: a real Node runs it, and the test plays the host.

import { expect, it } from 'vitest';
import { guestFrame, MAX_DEPTH, MAX_VALUES } from '../../src/wire/frames.js';
import { brief, type Frame, type Host, play, reply, tool } from '../support/fake-host.js';

const structured = (value: unknown) => ({ content: [], structuredContent: value });
const textOf = (text: string) => ({ content: [{ type: 'text', text }] });
const argumentsOf = (frame: Frame) => (frame['params'] as { arguments: Record<string, unknown> }).arguments;

/** Gives back its arguments. */
const echo: Host = (frame, say) => say(reply(frame.id, structured(argumentsOf(frame))));
const raw =
  (value: string): Host =>
  ({ id }, say) =>
    say(`{"type":"reply","id":${id},"value":${value}}`);

const main = (text: string, name = 'main.mjs') => ({ [name]: text });

it('calls tools by alias and by real name, of globals and of the package, imported both ways', async () => {
  const { code, stdout, stderr, frames, lines } = await play({
    files: {
      'main.mjs': `
        import own, { callTool, MCPError, servers } from 'mcp';
        import { old } from './old.cjs';
        console.log((await mcp_my_server.create_issue({ title: 'é😀' })).title);
        console.log((await mcp_my_server['create-issue']({ n: 1 })).n, (await servers.my_server.create_issue({ n: 2 })).n);
        console.log((await callTool('my-server', 'create-issue', { n: 3 })).n, (await old({ n: 4 })).n);
        console.log((await mcp.callToolRaw('my_server', 'create_issue', {})).content.length, own === mcp);
        console.log(Object.keys(mcp_my_server), mcp.listServers(), 'create_issue' in mcp_my_server, MCPError.name);
        console.log(mcp_my_server, await mcp.listTools('my_server'), Object.keys(servers));`,
      'old.cjs': `exports.old = (given) => require('mcp').servers['my-server'].create_issue(given);`,
    },
    tools: [tool('create-issue')],
    host: echo,
  });
  expect(stderr).toBe('');
  expect(stdout.split('\n')).toEqual([
    'é😀',
    '1 2',
    '3 4',
    '0 true',
    "[ 'create_issue' ] [ 'my-server' ] true MCPError",
    "<MCP server 'my-server', 1 tool> [ 'create_issue' ] [ 'my_server' ]",
    '',
  ]);
  expect(code).toBe(0);
  expect(frames.map(({ params }) => params)).toContainEqual({
    server: 'my-server',
    tool: 'create-issue',
    arguments: { n: 4 },
  });
  for (const line of lines) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
    expect(line).toMatch(/^[\x00-\x7f]*$/);
    expect(guestFrame.safeParse(JSON.parse(line)).success).toBe(true);
  }
});

it('reads what a server writes amiss as Python does', async () => {
  const data = Buffer.from('\u00fb\u00ff\u00fe1', 'latin1').toString('base64');
  const dresses = [
    data,
    data.replace(/=+$/, ''),
    data.replaceAll('+', '-').replaceAll('/', '_'),
    `${data.slice(0, 3)}\r\n${data.slice(3)}\n`,
    `data:image/png;base64,${data}`,
    ` DATA:image/png;BASE64,${encodeURIComponent(data)}`,
  ];
  const image = (dress: string) => ({ type: 'image', data: dress, mimeType: 'image/png' });
  const answers: unknown[] = [
    ...dresses.map((dress) => ({ content: [image(dress)] })),
    { content: '{"a":1}' },
    { content: { type: 'text', text: 'one' } },
    { toolResult: 7, _meta: {} },
    { content: 7 },
    { content: 'bad', isError: true },
    { content: [], structuredContent: { why: 'bad' }, isError: true },
  ];
  const count = answers.length;
  const { stdout } = await play({
    files: main(`
      for (let n = 0; n < ${count}; n++)
        try { console.log(JSON.stringify(await mcp_my_server.t())) } catch (e) { console.log(e.message) }`),
    tools: [tool('t')],
    host: ({ id }, say) => say(reply(id, answers.shift())),
  });
  const said = stdout.trim().split('\n');
  expect(said.slice(0, dresses.length)).toEqual(
    dresses.map(() => '{"type":"Buffer","data":[251,255,254,49]}'),
  );
  expect(said.slice(dresses.length)).toEqual([
    '{"a":1}',
    '"one"',
    '{"toolResult":7}',
    'my-server.t: the tool answered with content that MCP does not know: 7',
    'my-server.t: bad',
    'my-server.t: {"structuredContent":{"why":"bad"}}',
  ]);
});

it('unwraps results as Python does', async () => {
  const blocks = [
    { type: 'text', text: 'one' },
    { type: 'image', data: 'AAEC', mimeType: 'image/png' },
    { type: 'resource', resource: { uri: 'file:///a', blob: 'AAE=', mimeType: 'x/y' } },
    { type: 'hologram', beams: 3 },
  ];
  const answers: unknown[] = [
    structured({ a: 1 }),
    textOf('{"a": [1, null]}'),
    textOf('1.10'),
    textOf('7'),
    textOf('nothing {special}'),
    { content: [] },
    { content: blocks },
    { isError: true, content: [{ type: 'text', text: 'it broke' }] },
  ];
  const { stdout, stderr } = await play({
    files: main(`
      for (let n = 0; n < 7; n++) console.log(JSON.stringify(await mcp_my_server.t()));
      try { await mcp_my_server.t() } catch (e) { console.log(e instanceof mcp.MCPError, e.server, e.tool, e.code, e.text, e.message) }`),
    tools: [tool('t')],
    host: ({ id }, say) => say(reply(id, answers.shift())),
  });
  expect(stderr).toBe('');
  const [several, failure] = stdout.split('\n').slice(6);
  expect(stdout.split('\n').slice(0, 6)).toEqual([
    '{"a":1}',
    '{"a":[1,null]}',
    '"1.10"',
    '7',
    '"nothing {special}"',
    'null',
  ]);
  expect(JSON.parse(several ?? '')).toEqual([
    'one',
    { type: 'Buffer', data: [0, 1, 2] },
    { type: 'Buffer', data: [0, 1] },
    { type: 'hologram', beams: 3 },
  ]);
  expect(failure).toBe('true my-server t E_TOOL_FAILED it broke my-server.t: it broke');
});

it('changes no integer on its way, in either direction', async () => {
  const big =
    '[9007199254740991,9007199254740992,-12345678901234567890,"12345678901234567890",1.5e300,{"a\\\\":"\\""}]';
  const { stdout, lines } = await play({
    files: main(`
      const [safe, edge, huge, text, float] = await mcp_my_server.t({ id: 12345678901234567890n, list: [1n] });
      console.log(typeof safe, edge, huge, text, float, JSON.stringify({ huge }));`),
    tools: [tool('t')],
    host: raw(`{"structuredContent":${big}}`),
  });
  expect(lines[0]).toContain('"arguments":{"id":12345678901234567890,"list":[1]}');
  expect(stdout).toMatch(
    /^number 9007199254740992n -12345678901234567890n 12345678901234567890 1.5e\+300 \{"huge":"?-12345678901234567890"?\}\n$/,
  );
});

it('refuses what JSON would lose, and what the host would end the run for, before anything is sent', async () => {
  const attempts: Array<[string, RegExp]> = [
    ['{ a: 1, x: NaN }', /argument 'x' cannot be sent: NaN and Infinity are not JSON/],
    ['{ x: { y: [Infinity] } }', /argument 'x' cannot be sent: NaN/],
    ['{ x: Promise.resolve(1) }', /a Promise is not JSON; await it first/],
    ['{ x: new Map() }', /Object\.fromEntries/],
    ["{ x: Buffer.from('a') }", /toString\('base64'\)/],
    ['{ x: () => 1 }', /a function is not JSON/],
    ['(() => { const x = {}; x.x = x; return { x } })()', /circular/i],
    [`{ x: JSON.parse('['.repeat(${MAX_DEPTH}) + ']'.repeat(${MAX_DEPTH})) }`, /nested deeper than 128/],
    ["{ x: JSON.parse('['.repeat(100000) + ']'.repeat(100000)) }", /nested deeper than 128/],
    [`{ x: new Array(${MAX_VALUES}).fill(0) }`, /more than 1000000 values, some 100000\d, cannot/],
    ["'text'", /takes one object of arguments/],
    ['[1]', /takes one object of arguments/],
    ['Promise.resolve({})', /takes one object of arguments/],
  ];
  const calls = attempts.map(
    ([text]) =>
      `await mcp_my_server.t(${text}).then(() => console.log('sent'), (e) => console.log(e.message.split('\\n')[0]));`,
  );
  const { stdout, stderr, frames } = await play({
    files: main(calls.join('\n')),
    tools: [tool('t')],
    host: echo,
  });
  expect(stderr).toBe('');
  const said = stdout.split('\n');
  for (const [index, [, expected]] of attempts.entries()) expect(said[index]).toMatch(expected);
  expect(frames).toEqual([]);
});

it('sends no lone surrogate, and leaves out what is not there', async () => {
  const { lines, stdout } = await play({
    files: main(`
      for (const bad of ['x\\ud800y', ['\\udc80'], { '\\ud83d': 1 }])
        try { await mcp_my_server.t({ ok: '\\ud83d\\ude00', bad }) } catch (e) { console.log(e.name, e.message) }
      await mcp_my_server.t({ b: '\\\\\\\\ud800', c: undefined, d: new Date(0) })`),
    tools: [tool('t')],
    host: echo,
  });
  expect(stdout.trim().split('\n')).toHaveLength(3);
  for (const line of stdout.trim().split('\n'))
    expect(line).toMatch(
      /^TypeError my-server\.t: argument 'bad' cannot be sent: it holds a lone surrogate, '\\ud/,
    );
  expect(lines[0]).toContain('"arguments":{"b":"\\\\\\\\ud800","d":"1970-01-01T00:00:00.000Z"}');
});

it('names the closest tool, server and argument', async () => {
  const schema = {
    type: 'object',
    properties: { title: { type: 'string' } },
    required: ['title'],
    additionalProperties: false,
  };
  const { stdout, frames } = await play({
    files: main(`
      const said = async (f) => { try { await f() } catch (e) { console.log(e.name, e.code, e.message) } };
      await said(() => mcp_my_server.create_isue({}));
      await said(() => mcp.servers.my_sever.x());
      await said(() => mcp_other.x({}));
      await said(() => mcp_my_server.create_issue({ titel: 'a' }));
      await said(() => mcp_my_server.create_issue({}));
      await said(() => mcp.callTool('my_server', 'creat_issue'));
      console.log(await mcp_my_server === mcp_my_server, JSON.stringify(mcp_my_server), typeof mcp_other.then);`),
    tools: [tool('create-issue', { inputSchema: schema })],
    discovered: [brief('other')],
    host: echo,
  });
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(
      /^UnknownToolError E_TOOL_UNKNOWN .*no tool 'create_isue'\. Did you mean 'create_issue'\?/,
    ),
    expect.stringMatching(/^UnknownServerError E_SERVER_UNKNOWN .*'my_sever'.* Did you mean 'my-server'\?/),
    expect.stringMatching(/^UnknownServerError E_SERVER_NOT_LOADED .*pass servers=\["other"\]/),
    expect.stringMatching(
      /no argument 'titel'\. Did you mean 'title'\? Signature: create_issue\(\{title: string\}\)$/,
    ),
    expect.stringMatching(/is missing title\. Signature/),
    expect.stringMatching(/^UnknownToolError .*Did you mean 'create_issue'/),
    'true {} undefined',
    '',
  ]);
  expect(frames).toEqual([]);
});

it('shows the name of a tool that failed exactly', async () => {
  const { stdout } = await play({
    files: main(`
      for (const tool of ['delete_all\\rlist', 'a\\\\b'])
        try { await mcp_my_server[tool]({}) } catch (e) { console.log(e.tool === tool, e.message) }`),
    tools: [tool('delete_all\rlist'), tool('a\\b')],
    host: ({ id }, say) => say(reply(id, { isError: true, content: [{ type: 'text', text: 'no' }] })),
  });
  expect(stdout).toBe('true my-server.delete_all\\x0dlist: no\ntrue my-server.a\\\\b: no\n');
});

it('says which line of the program made a call that failed', async () => {
  const { stderr, code } = await play({
    files: main(`async function work() {\n  await mcp_my_server.t({});\n}\nawait work();\n`),
    tools: [tool('t')],
    host: ({ id }, say) =>
      say(
        JSON.stringify({
          type: 'refusal',
          id,
          error: { code: 'E_DENIED', message: 'not allowed', server: 'my-server', tool: 't' },
        }),
      ),
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/MCPError: not allowed\n\s+at work \(file:.*main\.mjs:2:\d+\)/);
  expect(stderr).not.toContain('sandbox-runtime');
});

it('has a hundred calls under way at once, answered in any order and in pieces', async () => {
  const waiting: number[] = [];
  const { stdout } = await play({
    files: main(`
      const all = await Promise.all(Array.from({ length: 100 }, (_, n) => mcp_my_server.t({ n })));
      console.log(all.every((value, n) => value.n === n), all.length);`),
    tools: [tool('t')],
    host: (frame, say) => {
      waiting.push(Number(frame.id));
      if (waiting.length < 100) return;
      const whole = waiting.reverse().map((id) => reply(id, structured({ n: id - 1 })));
      say(whole.join('\n'));
    },
  });
  expect(stdout).toBe('true 100\n');
});

it('ends when nothing is left to do, but not before a call that nobody awaits is answered', async () => {
  const idle = await play({ files: main(`console.log('done')`), tools: [tool('t')] });
  expect(idle).toMatchObject({ code: 0, stdout: 'done\n', frames: [] });
  const floating = await play({
    files: main(`mcp_my_server.t({}).then(() => console.log('answered'))`),
    tools: [tool('t')],
    host: (frame, say) => setTimeout(() => echo(frame, say), 100),
  });
  expect(floating).toMatchObject({ code: 0, stdout: 'answered\n' });
  const failing = await play({
    files: main(`mcp_my_server.t({})`),
    tools: [tool('t')],
    host: ({ id }, say) => say(reply(id, { isError: true, content: [] })),
  });
  expect(failing.code).toBe(1);
  expect(failing.stderr).toContain('MCPError');
});

it('writes a frame whole, however large, and reads one', async () => {
  const { stdout, lines } = await play({
    files: main(`
      const text = 'é'.repeat(500_000);
      const back = await Promise.all([mcp_my_server.t({ text }), mcp_my_server.t({ text })]);
      console.log(back.every((value) => value.text === text));`),
    tools: [tool('t')],
    host: echo,
  });
  expect(stdout).toBe('true\n');
  expect(lines.map((line) => line.length > 3_000_000)).toEqual([true, true]);
});

it('ends when it is told to stop, at once or among what came early, and when its host is gone', async () => {
  const stop = JSON.stringify({ type: 'stop', reason: 'timeout' });
  const hangs = `await mcp_my_server.t({}); console.log('never')`;
  const told = await play({ files: main(hangs), tools: [tool('t')], host: (_, say) => say(stop) });
  expect(told).toMatchObject({ code: 1, stdout: '' });
  const early = await play({ files: main(hangs), tools: [tool('t')], early: `${stop}\n` });
  expect(early).toMatchObject({ code: 1, stdout: '' });
});

it('gives up a call by its signal, and tells the host', async () => {
  const { stdout, frames } = await play({
    files: main(`
      await mcp_my_server.t({}, { signal: AbortSignal.timeout(50) }).catch((e) => console.log(e.name));
      console.log((await mcp_my_server.t({ n: 1 }, { signal: AbortSignal.timeout(60_000) })).n);`),
    tools: [tool('t')],
    host: (frame, say) => {
      if (frame.type === 'call' && frame.id !== 1) echo(frame, say);
    },
  });
  expect(stdout).toBe('TimeoutError\n1\n');
  expect(frames.map(({ type, id }) => [type, id])).toEqual([
    ['call', 1],
    ['abandon', 1],
    ['call', 2],
  ]);
});

it('looks tools up, loads one more server, and reads resources and prompts', async () => {
  const found = tool('find', {
    description: 'Finds things. And more.',
    inputSchema: {
      type: 'object',
      properties: { q: { type: 'string' }, n: { type: 'integer' } },
      required: ['q'],
    },
    outputSchema: { type: 'object', properties: { hits: { type: 'array', items: { type: 'string' } } } },
  });
  const other = {
    name: 'other',
    alias: 'other',
    description: '',
    version: null,
    instructions: null,
    tools: [found],
  };
  const answers: Record<string, unknown> = {
    'docs.search': [{ server: 'other', alias: 'other', loaded: false, score: 2, tool: found }],
    'servers.load': other,
    'tools.list': [found],
    'tools.call': structured('called'),
    'resources.list': { resources: [{ uri: 'a:b' }], templates: [], problems: [] },
    'resources.read': { contents: [{ uri: 'a:b', text: '{"not": "parsed"}' }] },
    'prompts.list': { prompts: [{ name: 'p' }], problems: [] },
    'prompts.get': { messages: [{ role: 'user', content: { type: 'text', text: 'filled in' } }] },
  };
  const { stdout, stderr, frames } = await play({
    files: main(`
      console.log(await mcp.queryToolDocs('my_server'));
      console.log(await mcp.searchToolDocs('find', { limit: 3 }));
      console.log((await mcp.queryToolDocs('my_server', 'find', { detail: 'full' }))[0].inputSchema.required);
      console.log(mcp_other, await mcp.listTools('other'));
      const other = await mcp.loadServer('other');
      console.log(await mcp_other.find({ q: 'x' }), other === mcp.servers.other, mcp_other);
      console.log(await mcp.readResource('my_server', (await mcp.listResources('my_server'))[0]));
      console.log((await mcp.listPrompts('my_server'))[0].name, await mcp.getPrompt('my_server', 'p', { n: 1, x: null }));
      mcp.progress(1, 10, 'pages');`),
    tools: [found],
    discovered: [brief('other', { onDemand: true, tools: 1 })],
    host: (frame, say) => {
      if (frame.type === 'call') say(reply(frame.id, answers[frame['method'] as string]));
    },
  });
  expect(stderr).toBe('');
  expect(stdout.split('\n')).toEqual([
    'mcp_my_server.find({q: string, n?: number}): {hits?: string[]}  // Finds things.',
    `mcp_other.find({q: string, n?: number}): {hits?: string[]}  // Not loaded. To load it, pass servers=["other"] in the call, or await mcp.loadServer('other'). Finds things.`,
    "[ 'q' ]",
    "<MCP server 'other', not loaded> [ 'find' ]",
    "called true <MCP server 'other', 1 tool>",
    '{"not": "parsed"}',
    'p filled in',
    '',
  ]);
  expect(frames.at(-2)?.['params']).toEqual({ server: 'my-server', prompt: 'p', arguments: { n: '1' } });
  expect(frames.at(-1)).toEqual({ type: 'progress', done: 1, total: 10, message: 'pages' });
});

it('leaves the conversation to the program alone: not to its workers, and not to what it starts', async () => {
  const { stdout } = await play({
    files: {
      'main.cjs': `
        const { execFileSync, fork } = require('child_process');
        const { Worker } = require('worker_threads');
        console.log(String(execFileSync('ls', ['/proc/self/fd'])).split('\\n').join(' '));
        fork('./child.cjs').on('exit', () => {
          new Worker("require('mcp').callTool('my_server', 't', {}).catch((e) => console.log(e.message))", { eval: true });
        });`,
      'child.cjs': `console.log(process.env.MCP_SANDBOX_CONVERSATION, typeof mcp_my_server)`,
    },
    tools: [tool('t')],
  });
  // Of the three that are ours none but, perhaps, the number of the folder that is being listed.
  expect(stdout.split('\n')).toEqual([
    expect.not.stringMatching(/\b[45]\b/),
    'undefined undefined',
    expect.stringContaining('main thread'),
    '',
  ]);
});

it('a server whose name is a keyword of Python is reached by it, too', async () => {
  const { stdout, stderr } = await play({
    files: main('console.log((await mcp_class.get({ n: 1 })).n, (await mcp_class_.get({ n: 2 })).n);'),
    tools: [tool('get')],
    server: { name: 'class', alias: 'class_' },
    host: echo,
  });
  expect([stdout, stderr]).toEqual(['1 2\n', '']);
});
