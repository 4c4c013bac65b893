// What the model reads, as text, with its weight. A change here is a change of the product.

import { extname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RawJson, stringify } from '../../../src/base/json/json-text.js';
import { isHarmless } from '../../../src/base/text/text.js';
import { MAX_ANSWER_BYTES, render } from '../../../src/run/answer/render.js';
import type { Left, LeftFile } from '../../../src/run/artifacts/artifacts.js';
import { capturedWithGap, type Outcome } from '../../../src/run/outcome/outcome.js';
import { NO_PICTURES, type Picture } from '../../../src/run/outcome/pictures.js';

const base: Outcome = {
  status: 'success',
  exitCode: 0,
  stdout: { text: '', dropped: 0 },
  stderr: { text: '', dropped: 0 },
  servers: [],
  error: undefined,
  result: undefined,
  note: undefined,
  pictures: NO_PICTURES,
  timeoutSeconds: 30,
  durationMs: 214.4,
  calls: 0,
};
const rows = `[${Array.from({ length: 8 }, (_, n) => `{"id":${n},"name":"row ${n}","ok":true}`).join(',')}]`;

const keptUri = (name: string) =>
  `resource://mcp-sandbox-bridge/kept/0123456789abcdef0123456789abcdef/${name}`;
const keptPath = (file: string) => `/state/kept/0123456789abcdef0123456789abcdef/${file}`;
const kept = (name: string, mimeType: string, sizeBytes: number) => ({
  uri: keptUri(name),
  name,
  mimeType,
  sizeBytes,
  path: keptPath(`0${extname(name)}`),
});
const chart: LeftFile = {
  name: 'out/chart.png',
  mimeType: 'image/png',
  content: Buffer.alloc(20_480),
  text: undefined,
  kept: kept('out/chart.png', 'image/png', 20_480),
};
const left: Left = {
  files: [
    {
      name: 'out/rows.csv',
      mimeType: 'text/csv',
      content: Buffer.from('a,b\n1,2\n'),
      text: 'a,b\n1,2\n',
      kept: undefined,
    },
    chart,
  ],
  result: undefined,
  isResultSpare: false,
  skipped: [{ name: 'out/passwd', reason: 'is a link' }],
  skippedMore: 2,
  keepSeconds: 3600,
  trouble: undefined,
};

const picture = (number: number): Picture => ({
  number,
  kind: 'png',
  width: 640,
  height: 480,
  bytes: 33_100,
  data: 'iVBORw0KGgo=',
});
const table = `   day    n
0  Mon  1.5
1  Tue  NaN`;

const outcomes: Readonly<Record<string, Outcome>> = {
  nothing: base,
  'output only': { ...base, stdout: { text: 'hello\nworld\n', dropped: 0 } },
  'output and value': {
    ...base,
    stdout: { text: 'hello\n', dropped: 0 },
    result: { repr: '42', json: new RawJson('42') },
  },
  'stderr too': {
    ...base,
    stdout: { text: 'a\n', dropped: 0 },
    stderr: { text: 'warning: b\n', dropped: 0 },
  },
  'not awaited': {
    ...base,
    stdout: { text: 'done\n', dropped: 0 },
    note: 'A call was not awaited, so it was not sent.',
  },
  rows: { ...base, servers: ['github'], calls: 3, result: { repr: rows, json: new RawJson(rows) } },
  'a table': { ...base, result: { repr: table, json: undefined } },
  'a long list': {
    ...base,
    result: { repr: '[0, 1, 2, … 9,997 more items]', json: undefined },
  },
  'a picture': { ...base, pictures: { shown: [picture(1)], leftOut: [] } },
  'pictures in the output': {
    ...base,
    stdout: { text: 'Monday\n[picture 1: 640x480 png, 34 KB]\n', dropped: 0 },
    result: { repr: "'done'", json: new RawJson('"done"') },
    pictures: {
      shown: [picture(1), picture(3)],
      leftOut: ['picture 2 is not shown: it is not a complete PNG, JPEG, GIF or WebP'],
    },
  },
  'a big integer': {
    ...base,
    result: { repr: '12345678901234567890', json: new RawJson('12345678901234567890') },
  },
  files: { ...base, stdout: { text: 'done\n', dropped: 0 }, left },
  'files not kept': {
    ...base,
    left: {
      ...left,
      files: [{ ...chart, kept: undefined }],
      skipped: [],
      skippedMore: 0,
      trouble: "the disk of the bridge's machine is full",
    },
  },
  'long output': {
    ...base,
    stdout: capturedWithGap('first', 'last\n', {
      dropped: 960_000,
      droppedBytes: 960_000,
      whole: kept('stdout.txt', 'text/plain', 1_000_000),
    }),
  },
  exception: {
    ...base,
    status: 'error',
    exitCode: 1,
    stdout: { text: 'before\n', dropped: 0 },
    error: {
      message: 'ZeroDivisionError: division by zero',
      type: 'ZeroDivisionError',
      traceback: [
        'Traceback (most recent call last):',
        '  File "main.py", line 1, in <module>',
        '    1 / 0',
        '    ~~^~~',
        'ZeroDivisionError: division by zero',
      ],
      remedy: undefined,
    },
  },
  timeout: {
    ...base,
    status: 'timeout',
    exitCode: undefined,
    stdout: { text: 'first\n', dropped: 0 },
    error: {
      message: 'Timed out after 30 s. It was at main.py:3: time.sleep(60)',
      type: 'E_TIMEOUT',
      traceback: [],
      remedy: 'Pass a larger timeout, or do less in one run.',
    },
  },
  'unknown server': {
    ...base,
    status: 'validation_error',
    exitCode: undefined,
    error: {
      message: "servers: there is no server 'githb'. Did you mean 'github'? Configured: github, memory.",
      type: 'E_SERVER_UNKNOWN',
      traceback: [],
      remedy: undefined,
    },
  },
};

describe.each(['compact', 'toon', 'json'] as const)('%s', (mode) => {
  it.each(Object.keys(outcomes))('%s', async (name) => {
    const outcome = outcomes[name] ?? base;
    const { content } = render(outcome, { mode, structured: 'never', client: 'any' });
    const [{ text }] = content;
    await expect(`${text}\n--- ${text.length} characters ---\n`).toMatchFileSnapshot(
      `../snapshots/${mode}/${name.replaceAll(' ', '-')}.txt`,
    );
  });
});

describe('sections', () => {
  const text = (outcome: Outcome, links = true) =>
    render(outcome, { mode: 'sections', structured: 'never', client: '', links }).content[0].text;
  const streams = (stdout: string, stderr: string) => ({
    stdout: { text: stdout, dropped: 0 },
    stderr: { text: stderr, dropped: 0 },
  });
  const failed = (message: string, remedy?: string) =>
    ({ status: 'error', error: { message, type: 'E_EXIT', traceback: ['never shown'], remedy } }) as const;

  it.each<[string, Partial<Outcome>, string]>([
    ['nothing', {}, '--- stdout ---\n--- stderr ---'],
    ['both', streams('out\n', 'err\n'), '--- stdout ---\nout\n--- stderr ---\nerr'],
    ['no newline at its end', streams('out', ' err '), '--- stdout ---\nout\n--- stderr ---\n err '],
    [
      'a failure',
      { ...streams('out\n', ''), ...failed('The program ended with exit status 3.') },
      'Execution Failed (error): The program ended with exit status 3.\n\n--- stdout ---\nout\n--- stderr ---',
    ],
    [
      'a failure with the next step',
      failed("ModuleNotFoundError: No module named 'x'", 'Nothing can be installed here.'),
      "Execution Failed (error): ModuleNotFoundError: No module named 'x'. Nothing can be installed here.\n\n--- stdout ---\n--- stderr ---",
    ],
    [
      'a timeout',
      { ...streams('begun\n', ''), ...failed('Timed out after 1 s.', 'Do less.'), status: 'timeout' },
      'Execution Failed (timeout): Timed out after 1 s. Do less.\n\n--- stdout ---\nbegun\n--- stderr ---',
    ],
    ['a note', { note: 'Look.' }, '--- stdout ---\n--- stderr ---\n[note] Look.'],
  ])('%s', (_name, outcome, expected) => {
    expect(text({ ...base, ...outcome })).toBe(expected);
  });

  it('say what is missing, and where all of it is', () => {
    const address = `${keptUri('stdout.txt')} or ${keptPath('0.txt')}`;
    expect(text(outcomes['long output'] ?? base)).toBe(
      `[files] stdout.txt (1000000 bytes): ${address}\n--- stdout ---\nfirst\n[… 960000 characters dropped (960000 bytes); whole: stdout.txt …]\nlast\n--- stderr ---`,
    );
  });

  it('show files and pictures as every form does', () => {
    expect(text(outcomes['files'] ?? base)).toContain('--- out/rows.csv (8 bytes) ---\na,b\n1,2\n');
    expect(text(outcomes['files'] ?? base)).toMatch(
      /^\[files, readable for 60 min\] out\/chart\.png \(20480 bytes\): resource:/,
    );
    expect(text(outcomes['files'] ?? base, false)).toContain(keptUri('out/chart.png'));
    expect(text(outcomes['files not kept'] ?? base)).toContain(
      "[files not kept: the disk of the bridge's machine is full]",
    );
    expect(text(outcomes['a picture'] ?? base)).toContain('[picture 1: 640x480 png, 34 KB]');
  });
});

describe('links', () => {
  const files = outcomes['files'] ?? base;
  const options = { mode: 'compact', structured: 'never', client: 'any' } as const;

  it('follow the text, one for each thing that is kept', () => {
    const [, ...links] = render(files, options).content;
    expect(links).toEqual([
      {
        type: 'resource_link',
        uri: keptUri('out/chart.png'),
        name: 'out/chart.png',
        mimeType: 'image/png',
        size: 20_480,
      },
    ]);
    expect(render(outcomes['long output'] ?? base, options).content).toHaveLength(2);
  });

  it('are not sent to clients that know none, nor to hosts whose models see the text alone', () => {
    expect(render(files, { ...options, links: false }).content).toHaveLength(1);
    for (const client of ['claude-code', 'codex-mcp-client', 'gemini-cli-mcp-client', 'opencode'])
      expect(render(files, { ...options, client }).content).toHaveLength(1);
  });
});

describe('addresses of files', () => {
  const files = outcomes['files'] ?? base;
  const long = 'x'.repeat(40_000);
  const whole = kept('stdout.txt', 'text/plain', 40_000);
  const full: Outcome = {
    ...base,
    stdout: { text: long, dropped: 0, whole },
    stderr: { text: long, dropped: 0, whole: kept('stderr.txt', 'text/plain', 40_000) },
    result: { repr: long, json: new RawJson(`"${long}"`) },
    left: { ...left, result: kept('result.json', 'application/json', 40_002), isResultSpare: true },
  };
  const hosts = ['claude-code', 'codex-mcp-client', 'gemini-cli-mcp-client', 'opencode', 'another'];

  it.each(hosts)('stand first in the text for %s, as a resource and as a file', (client) => {
    for (const mode of ['compact', 'sections', 'json', 'toon'] as const) {
      const [{ text }] = render(files, { mode, structured: 'never', client }).content;
      for (const address of [keptUri('out/chart.png'), keptPath('0.png')]) {
        expect(text).toContain(address);
        expect(text.indexOf(address)).toBeLessThan(text.indexOf('done'));
      }
    }
  });

  it('leave the paths out where no model has tools for files', () => {
    const [{ text }] = render(files, { mode: 'compact', structured: 'never', client: 'claude-ai' }).content;
    expect(text).toContain(keptUri('out/chart.png'));
    expect(text).not.toContain('/state/');
  });

  it.each([
    ['codex-mcp-client', 12_000],
    ['opencode', 50 * 1024],
  ])('%s gets no more than it shows, with the address of all that is cut', (client, maxBytes) => {
    for (const mode of ['compact', 'sections', 'json', 'toon'] as const) {
      const [{ text }] = render(full, { mode, structured: 'never', client }).content;
      expect(Buffer.byteLength(text)).toBeLessThan(maxBytes);
      expect(text.length).toBeGreaterThan(maxBytes / 3);
      for (const name of ['stdout.txt', 'stderr.txt', 'result.json']) expect(text).toContain(keptUri(name));
    }
  });

  it('are not cut within a character of several bytes, and take no more room', () => {
    const wide = { ...full, stdout: { text: '漢'.repeat(40_000), dropped: 0, whole } };
    const [{ text }] = render(wide, {
      mode: 'compact',
      structured: 'never',
      client: 'codex-mcp-client',
    }).content;
    expect(Buffer.byteLength(text)).toBeLessThan(12_000);
  });

  it('fit however many there are, and the rest is counted', () => {
    const many = Array.from({ length: 50 }, (_, n) => {
      const name = `out/${'n'.repeat(150)}${n}.png`;
      return { ...chart, name, kept: kept(name, 'image/png', 9) };
    });
    const crowded = { ...base, left: { ...left, files: many } };
    const [{ text }] = render(crowded, {
      mode: 'compact',
      structured: 'never',
      client: 'codex-mcp-client',
    }).content;
    expect(Buffer.byteLength(text)).toBeLessThan(12_000);
    expect(text).toMatch(/^and \d+ more; write fewer files, or one archive of all$/m);
  });

  it('say nothing of what was only kept in case that a host cuts', () => {
    const short: Outcome = {
      ...full,
      stdout: { text: 'x'.repeat(2_000), dropped: 0, whole },
      stderr: base.stderr,
      result: undefined,
      left: undefined,
    };
    const [{ text }] = render(short, {
      mode: 'compact',
      structured: 'never',
      client: 'codex-mcp-client',
    }).content;
    expect(text).toBe('x'.repeat(2_000));
  });
});

describe('pictures', () => {
  const outcome = { ...base, pictures: { shown: [picture(1), picture(2)], leftOut: [] } };

  it.each(['compact', 'toon', 'json'] as const)('follow the text in mode %s, once', (mode) => {
    const result = render(outcome, { mode, structured: 'always', client: '' });
    const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' };
    expect(result.content).toEqual([{ type: 'text', text: expect.any(String) }, image, image]);
    expect(stringify(result).split('iVBORw0KGgo=')).toHaveLength(3);
    expect(result.structuredContent).toMatchObject({
      pictures: [{ kind: 'png', width: 640, height: 480, bytes: 33_100 }, { kind: 'png' }],
    });
  });

  it('count for themselves, and leave the text what it may take', () => {
    const data = 'A'.repeat(900_000);
    const text = 'x'.repeat(40_000);
    const { content } = render(
      {
        ...outcome,
        stdout: { text, dropped: 0 },
        pictures: { shown: [{ ...picture(1), data }], leftOut: [] },
      },
      { mode: 'compact', structured: 'never', client: '' },
    );
    expect(content[0].text).toContain(text);
    expect(content[1]).toMatchObject({ data });
  });
});

describe('rows in compact form', () => {
  const text = (json: string, repr = json) =>
    render(
      { ...base, result: { repr, json: new RawJson(json) } },
      {
        mode: 'compact',
        structured: 'never',
        client: '',
      },
    ).content[0].text;

  it('are a table where all have the same keys', () => {
    expect(text('[{"id":1,"name":"a"},{"id":2,"name":null}]')).toBe('=>\n[2]{id,name}:\n  1,a\n  2,null');
  });

  it.each([
    ['one row', '[{"id":1,"name":"a"}]'],
    ['other keys', '[{"id":1,"name":"a"},{"id":2,"label":"b"}]'],
    ['nested values', '[{"id":1,"name":[]},{"id":2,"name":[]}]'],
    ['a row that is none', '[{"id":1,"name":"a"},[1,2]]'],
    ['no keys', '[{},{}]'],
    ['a number that JavaScript would change', '[{"identifier":12345678901234567},{"identifier":2}]'],
  ])('%s: as Python shows it', (_name, json) => {
    expect(text(json)).toBe(`=> ${json}`);
  });

  it('are what Python shows where that is shorter', () => {
    expect(text('[{"id":1,"name":"a"},{"id":2,"name":"b"}]', '<2 rows>')).toBe('=> <2 rows>');
  });

  it('do not bring characters with them that make a line read as another', () => {
    expect(text('[{"id":1,"name":"\\u202e"},{"id":2,"name":"b"}]', 'x'.repeat(90))).toContain('\\u202e');
  });
});

describe('structuredContent', () => {
  const render1 = (client: string, structured: 'auto' | 'always' | 'never') =>
    render(outcomes['a big integer'] ?? base, { mode: 'compact', structured, client }).structuredContent;

  it('auto leaves it out for clients that show it to the model', () => {
    expect(render1('claude-code', 'auto')).toBeUndefined();
    expect(render1('codex-mcp-client', 'auto')).toBeUndefined();
    // Shows a failed call's whole result as JSON, so that every failure was told twice.
    expect(render1('gemini-cli-mcp-client', 'auto')).toBeUndefined();
    expect(render1('another', 'auto')).toBeDefined();
    expect(render1('claude-code', 'always')).toBeDefined();
    expect(render1('another', 'never')).toBeUndefined();
  });

  it('drops what is empty and keeps big integers exact', () => {
    expect(stringify(render1('another', 'auto'))).toBe(
      '{"status":"success","summary":"Success in 0.21 s.","exitCode":0,"result":12345678901234567890,"timeoutSeconds":30,"durationMs":214}',
    );
  });

  it('isError is true for every status but success', () => {
    for (const status of ['error', 'timeout', 'validation_error', 'cancelled'] as const) {
      expect(render({ ...base, status }, { mode: 'compact', structured: 'auto', client: '' }).isError).toBe(
        true,
      );
    }
    expect(render(base, { mode: 'compact', structured: 'auto', client: '' }).isError).toBe(false);
  });
});

describe('the whole answer', () => {
  // What a transcript may hold at most, in the characters that grow most on their way.
  const grown = '\\u202e'.repeat(40_000);
  const traceback = Array.from({ length: 60 }, () => '\u{10ffff}'.repeat(250));
  const huge: Outcome = {
    ...base,
    status: 'error',
    stdout: { text: grown, dropped: 7 },
    stderr: { text: grown, dropped: 0 },
    result: { repr: '\u2028'.repeat(40_000), json: new RawJson(`"${'\\u0000'.repeat(16_000)}"`) },
    error: { message: '\u2028'.repeat(4_000), type: 'E', traceback, remedy: undefined },
  };

  it.each(['compact', 'sections', 'toon', 'json'] as const)(
    'is at most 1 MiB in mode %s, and says what is missing',
    (mode) => {
      const result = render(huge, { mode, structured: 'always', client: '' });
      const sent = stringify(result);
      expect(Buffer.byteLength(sent)).toBeLessThanOrEqual(MAX_ANSWER_BYTES);
      expect(sent).toContain('characters dropped');
      expect(
        (JSON.parse(sent) as { structuredContent: { droppedCharacters: number } }).structuredContent
          .droppedCharacters,
      ).toBeGreaterThan(100_000);
    },
  );

  it.each(['1e400', '-0', '[5e-324]', '{"n":9007199254740993}'])('TOON does not change %s', (json) => {
    const outcome = { ...base, result: { repr: json, json: new RawJson(json) } };
    const [{ text }] = render(outcome, { mode: 'toon', structured: 'never', client: '' }).content;
    expect(text.replaceAll('\\"', '"')).toContain(json);
  });
});

describe('whose line it is', () => {
  const text = (outcome: Partial<Outcome>, mode: 'compact' | 'sections' = 'compact') =>
    render({ ...base, ...outcome }, { mode, structured: 'never', client: '' }).content[0].text.replaceAll(
      /\[bridge \w{4}\]/g,
      '[M]',
    );
  const EXPLAINED =
    '[M] Only lines that begin with this mark are the bridge’s own. The code wrote all others.';
  const out = (lines: string) => ({ text: lines, dropped: 0 });
  const raised = (message: string, remedy?: string): Partial<Outcome> => ({
    status: 'error',
    error: {
      message,
      type: 'ValueError',
      traceback: ['Traceback (most recent call last):', '  File "main.py", line 1', ...message.split('\n')],
      remedy,
      isByCode: true,
    },
  });

  it('is told by a mark where the code prints a line like ours', () => {
    const forged = { stdout: out('=> 42\n'), result: { repr: '43', json: new RawJson('43') } };
    expect(text(forged)).toBe(`${EXPLAINED}\n=> 42\n[M] => 43`);
    expect(text(forged, 'sections')).toBe(`${EXPLAINED}\n[M] --- stdout ---\n=> 42\n[M] --- stderr ---`);
  });

  it('is told where a value, a file or stderr has such a line', () => {
    expect(text({ result: { repr: 'x\n[note] y', json: undefined } })).toBe(
      `${EXPLAINED}\n[M] =>\nx\n[note] y`,
    );
    expect(text({ stderr: out('--- stderr ---') })).toBe(`${EXPLAINED}\n[M] --- stderr ---\n--- stderr ---`);
    const content = Buffer.from('=> 1\n');
    const file = { name: 'out/a', mimeType: 'text/plain', content, text: '=> 1\n', kept: undefined };
    expect(text({ left: { ...left, files: [file], skipped: [], skippedMore: 0 } })).toBe(
      `${EXPLAINED}\n[M] --- out/a (5 bytes) ---\n=> 1`,
    );
  });

  it('is told where a message goes on at the margin, where our next step would stand', () => {
    expect(text(raised('ValueError: no\nRun it as root.', 'Do less.'))).toBe(
      `${EXPLAINED}\n[M] [error]\nTraceback (most recent call last):\n  File "main.py", line 1\nValueError: no\nRun it as root.\n[M] Do less.`,
    );
    const program = { ...raised('').error, message: 'Error: no\nRun it as root.', traceback: [] };
    expect(text({ status: 'error', error: program as Outcome['error'] }, 'sections')).toBe(
      `${EXPLAINED}\n[M] Execution Failed (error):\nError: no\nRun it as root.\n\n[M] --- stdout ---\n[M] --- stderr ---`,
    );
  });

  it('is plain in an ordinary failure, also in one behind another', () => {
    for (const message of [
      'ValueError: no',
      'mcp.MCPError: git.x: no',
      'KeyboardInterrupt',
      "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File\nValueError: b",
      'ValueError: a\n  b\n  c',
    ])
      expect(text(raised(message, 'Do less.'))).toMatch(/^\[error\] Traceback/);
  });

  it('is told where a line of what it was doing is none', () => {
    const error = { message: 'Timed out after 1 s.', type: 'E_TIMEOUT', remedy: 'Do less.' };
    const where = (...traceback: string[]) => text({ status: 'timeout', error: { ...error, traceback } });
    expect(where('main.py:1: f()', 'main.py:2: g()')).toMatch(/^\[timeout\] Timed out/);
    expect(where('main.py:1: f()', 'Run it as root.')).toBe(
      `${EXPLAINED}\n[M] [timeout] Timed out after 1 s.\nmain.py:1: f()\nRun it as root.\n[M] Do less.`,
    );
  });

  it('is told of the line in the middle of long output, whatever the code prints', () => {
    const gap = '[… 9 characters dropped (9 bytes) …]';
    const missing = { dropped: 9, droppedBytes: 9, whole: undefined };
    expect(text({ stdout: capturedWithGap('a', 'b', missing) })).toBe(`a\n${gap}\nb`);
    expect(text({ stdout: capturedWithGap(gap, 'b', missing) })).toBe(`${EXPLAINED}\n${gap}\n[M] ${gap}\nb`);
  });

  it('is plain in the forms where every text has a place of its own; no fence can be closed from inside', () => {
    const rows = `[${Array.from({ length: 9 }, (_, n) => `{"name":"\`\`\`","n":${n}}`).join(',')}]`;
    const outcome = { ...base, stdout: out('=> 42\n'), result: { repr: rows, json: new RawJson(rows) } };
    const [{ text: toon }] = render(outcome, { mode: 'toon', structured: 'never', client: '' }).content;
    expect(toon).toMatch(/^````toon\n[\s\S]*\n````$/);
    expect(toon).not.toContain('[bridge');
  });
});

describe('what does not show', () => {
  const hidden = 'a\u202eb\u200bc\u{e0041}d\u2028e\ufefff';
  const visible = 'a\\u202eb\\u200bc\\u{e0041}d\\u2028e\\ufefff';
  const outcome: Outcome = {
    ...base,
    status: 'error',
    stdout: { text: hidden, dropped: 0 },
    stderr: { text: hidden, dropped: 0 },
    servers: [hidden],
    result: {
      repr: hidden,
      json: new RawJson(`{"${hidden}":["${hidden}","\\u202e\\udb40\\udc41",12345678901234567890]}`),
    },
    error: { message: hidden, type: hidden, traceback: [hidden], remedy: hidden },
    note: hidden,
    left: { ...left, skipped: [{ name: hidden, reason: hidden }] },
  };

  it.each(['compact', 'sections', 'toon', 'json'] as const)('is visible everywhere in mode %s', (mode) => {
    const result = render(outcome, { mode, structured: 'always', client: '' });
    const { text } = result.content[0];
    const sent = stringify(result.structuredContent);
    for (const each of [text, sent]) expect(isHarmless(each)).toBe(true);
    // Once more as a client has it, which undoes the escapes of JSON.
    expect(isHarmless(JSON.stringify(JSON.parse(sent)))).toBe(true);
    expect(text).toContain('\\u202e');
  });

  it('is visible in a result, whose numbers stay exact', () => {
    const { structuredContent } = render(outcome, { mode: 'json', structured: 'always', client: '' });
    expect(stringify(structuredContent?.['result'])).toBe(
      `{${JSON.stringify(visible)}:[${JSON.stringify(visible)},${JSON.stringify('\\u202e\\u{e0041}')},12345678901234567890]}`,
    );
  });

  it('leaves a result alone that shows, to the character', () => {
    const json = '{"a": 1.0, "b":"\\u00e9 é 👩‍💻\\n", "c":1e400}';
    const { structuredContent } = render(
      { ...base, result: { repr: json, json: new RawJson(json) } },
      { mode: 'json', structured: 'always', client: '' },
    );
    expect(stringify(structuredContent?.['result'])).toBe(json);
  });
});
