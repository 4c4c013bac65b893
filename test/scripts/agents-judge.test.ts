// The judges of the host programs, on sessions made up here: what holds, what does not, and what is the host's affair.

import { describe, expect, it } from 'vitest';

type Finding = { readonly what: string; readonly saw: string; readonly held?: boolean };

const load = (name: string) => import(new URL(`../../scripts/agents/${name}.mjs`, import.meta.url).href);

const { judgeEnd, judgeSession } = (await load('judge')) as {
  judgeEnd: (what: string, end: { left: readonly string[]; ms: number }) => Finding;
  judgeSession: (host: object, session: object, ref: object) => Finding[];
};
const { wrongSettingFindings } = (await load('wrong-setting')) as {
  wrongSettingFindings: (firstPrompt: string, result: object | undefined) => Finding[];
};
const { hostTable } = (await load('report')) as { hostTable: (hosts: readonly object[]) => string };

const answer = (text: string, isError = false, images: object[] = []) => ({ isError, text, images });
const ref = {
  instructions: 'First line "quoted".\nSecond.',
  tool: { description: 'Runs Python.' },
  answers: {
    text: answer('hello\n=> 42'),
    'tool call': answer('=> 1'),
    error: answer('[error] line\nKeyError', true),
    picture: answer('', false, [{ mimeType: 'image/png', base64: 'AA==' }]),
    '45,000 characters': answer(
      `[files] stdout.txt (9 bytes): resource://kept/b/stdout.txt or /kept/0.txt\n${'x'.repeat(40_000)}`,
    ),
    'everything full': answer('y'.repeat(120_000)),
    'a file': answer(
      `[files] out/report.csv (9 bytes): resource://kept/a/out/report.csv or /home/a/kept/0.csv`,
    ),
  },
};
const reads = [answer('name,value\nkept,1'), answer('line 00000 …')];
const schema = { properties: { code: {}, servers: {}, timeout: {}, added_by_host: {} } };
const tool = { name: 'mcp__sandbox__run_python', description: 'Runs Python.', schema, isDeferred: false };
const claude = { isWell: 'Connected', showsWholeAnswers: true };

function findings(change: {
  tool?: object;
  body?: string;
  results?: object[];
  reads?: object[];
  host?: object;
}) {
  const body = change.body ?? JSON.stringify(ref.instructions);
  const results = [...(change.results ?? Object.values(ref.answers)), ...(change.reads ?? reads)];
  const turn = { tools: [change.tool ?? tool], results, body };
  const session = { listed: 'Connected', standIn: { turns: [turn] }, said: 'Running for 5 s' };
  const found = judgeSession(change.host ?? claude, session, ref);
  return Object.fromEntries(found.map(({ what, ...rest }) => [what, rest]));
}
const withResult = (index: number, result: object) => Object.values(ref.answers).with(index, result as never);

describe('a session', () => {
  it('holds when the model got everything as we sent it', () => {
    const all = findings({});
    expect(Object.values(all).filter(({ held }) => held === false)).toEqual([]);
    expect(all['progress']).toEqual({ saw: 'shown' });
    expect(all['picture']).toEqual({ saw: 'as we sent it', held: true });
  });

  it('fails when the tool is only named, or the instructions are missing', () => {
    expect(findings({ tool: { ...tool, isDeferred: true } })['first prompt']).toEqual({
      saw: 'instructions',
      held: false,
    });
    expect(findings({ body: '' })['first prompt']).toEqual({ saw: 'whole schema', held: false });
  });

  it('fails when structured data took the place of the text', () => {
    const structured = findings({ results: withResult(0, answer('{"stdout":["hello"]}')) });
    expect(structured['result']?.held).toBe(false);
  });

  it('takes a failure that the host wraps in JSON, and none that is marked as a success', () => {
    const wrapped = answer(`said: ${JSON.stringify(ref.answers.error.text)}`, true);
    expect(findings({ results: withResult(2, wrapped) })['failure']).toEqual({
      saw: 'our text in JSON + 9 characters, marked as failed',
      held: true,
    });
    expect(
      findings({ results: withResult(2, { ...ref.answers.error, isError: false }) })['failure']?.held,
    ).toBe(false);
  });

  it('takes the address of what a run kept for the same, whatever its id', () => {
    const at = (id: string) => answer(`whole: resource://kept/${id.repeat(32)}/stdout.txt`);
    const answers = { ...ref.answers, text: at('a') };
    const turn = { tools: [tool], results: [at('b')], body: JSON.stringify(ref.instructions) };
    const session = { listed: 'Connected', standIn: { turns: [turn] }, said: '' };
    const result = judgeSession(claude, session, { ...ref, answers }).find(({ what }) => what === 'result');
    expect(result).toEqual({ what: 'result', saw: 'our text', held: true });
  });

  it('fails when the model has no address of a file, or finds nothing there', () => {
    expect(findings({})['a file, read']).toEqual({ saw: 'found by its address', held: true });
    expect(findings({ results: withResult(6, answer('[files] a link')) })['a file, read']).toEqual({
      saw: 'no address',
      held: false,
    });
    expect(findings({ reads: [answer('no such tool'), answer('')] })['a file, read']).toEqual({
      saw: 'address, but "no such tool"',
      held: false,
    });
  });

  it('fails when a picture became words', () => {
    expect(findings({ results: withResult(3, answer('[image]')) })['picture']).toEqual({
      saw: 'no picture, but "[image]"',
      held: false,
    });
  });

  it('lets a host shorten what is long, unless it is one that promised not to', () => {
    const results = withResult(5, answer('y'.repeat(2_000)));
    expect(findings({ results })['everything full']?.held).toBe(false);
    const host = { ...claude, showsWholeAnswers: false };
    expect(findings({ results, host })['everything full']).toEqual({
      saw: 'fitted by us to 2,000',
      held: true,
    });
  });
});

describe('an end', () => {
  it('holds when nothing is left within a second', () => {
    expect(judgeEnd('Ctrl-C', { left: [], ms: 90.4 })).toEqual({ what: 'Ctrl-C', saw: '90 ms', held: true });
    expect(judgeEnd('Ctrl-C', { left: [], ms: 1_500 }).held).toBe(false);
    expect(judgeEnd('Ctrl-C', { left: ['conmon'], ms: 10 })).toMatchObject({
      saw: 'left: conmon',
      held: false,
    });
  });
});

it('demands that a wrong setting is said to the model before and after it calls', () => {
  const said = "MCP_BRIDGE_MEMORY is 'lots'; allowed: a size.";
  const held = (prompt: string, result: object | undefined) => wrongSettingFindings(prompt, result)[0]?.held;
  expect(held(`{"system": "${said}"}`, answer(said, true))).toBe(true);
  expect(held('{}', answer(said, true))).toBe(false);
  expect(held(said, answer('hello'))).toBe(false);
  expect(held(said, undefined)).toBe(false);
});

it('names a host that could not be tried, with the reason, below the table', () => {
  const table = hostTable([
    { title: 'A', version: '1', findings: [{ what: 'progress', saw: 'shown' }] },
    { title: 'B', version: '2', failed: 'no program for sunos' },
  ]);
  expect(table).toContain('|  | A 1 |');
  expect(table).toContain('B 2 was not tried: no program for sunos.');
});
