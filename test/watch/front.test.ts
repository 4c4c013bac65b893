// The page over HTTP, as a browser and as an attacker asks for it: who may see it, and which forms count.

import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Decision, Question } from '../../src/policy/approvals/question.js';
import type { RunLine } from '../../src/run/audit/audit-line.js';
import { OwnServer } from '../../src/watch/front/own-server.js';
import type { AnswerableQuestion, LiveSession, RunFile } from '../../src/watch/front/sources.js';
import { SeenBridges } from '../../src/watch/gather/bridges.js';
import { History } from '../../src/watch/gather/history.js';
import { newStateDir, question, withArguments } from '../policy/inbox/questions.js';
import { ask, type Sent } from '../support/browser-request.js';
import { until } from '../support/time.js';

const RAN = {
  ...{ kind: 'run', run: 'r-1', at: new Date().toISOString(), client: 'agent 1', servers: [] },
  ...{ status: 'success', durationMs: 5, calls: 0, code: { bytes: 10, sha256: '0123456789abcdef' } },
} as unknown as RunLine;

/** A page with one question and one session, opened as a browser does. */
async function opened(changed: Partial<Question> = {}, files: readonly RunFile[] = []) {
  const stateDir = newStateDir();
  const answers: { decision: Decision; word: string | undefined }[] = [];
  const ended: string[] = [];
  const asked: AnswerableQuestion = {
    question: question(changed),
    digest: 'a digest',
    answer: async (decision, word) => {
      answers.push({ decision, word });
      return { is: 'taken', why: 'allowed once by ann on the page' };
    },
  };
  const session: LiveSession = {
    handle: 's-0123456789abcdef',
    name: 'figures',
    client: 'agent 1',
    createdAt: new Date().toISOString(),
    lastCallAt: new Date().toISOString(),
    calls: 3,
    owner: undefined,
    memoryLimitBytes: 1_000,
    end: async () => void ended.push('figures'),
  };
  const bridges = new SeenBridges(stateDir);
  const history = new History();
  history.add([RAN]);
  const front = await OwnServer.open({
    sources: () => ({
      bridges,
      history,
      views: ['now'],
      ended: () => [],
      readAudit: () => {},
      questions: () => [asked],
      sessions: () => [session],
      filesOf: async ({ run }) => (run === RAN.run ? files : []),
    }),
    file: (name) => `the ${name}`,
    closed: 'Open a link.',
  });
  onTestFinished(async () => {
    bridges[Symbol.dispose]();
    await front[Symbol.asyncDispose]();
  });
  const link = front.newLink();
  const first = await ask(link);
  const [setCookie = ''] = first.headers['set-cookie'] as string[];
  const cookie = setCookie.split(';')[0] ?? '';
  const address = new URL(/url=(\/[^/]+\/)"/.exec(first.body)?.[1] ?? '', link);
  const see = (name: string, headers: Sent['headers'] = {}) =>
    ask(new URL(name, address), { headers: { cookie, ...headers } });
  const post = (name: string, fields: Readonly<Record<string, string>>, headers: Sent['headers'] = {}) =>
    ask(new URL(name, address), {
      method: 'POST',
      headers: {
        cookie,
        origin: address.origin,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      body: new URLSearchParams(fields).toString(),
    });
  const [shown] = JSON.parse((await see('questions')).body);
  const [shownSession] = JSON.parse((await see('sessions')).body);
  return {
    front,
    link,
    first,
    setCookie,
    cookie,
    address,
    see,
    post,
    asked,
    answers,
    ended,
    shown,
    shownSession,
  };
}

/** The page itself, and what its views are made of. */
const VIEWS = ['', 'page.js', 'page.css', 'now', 'bridges', 'runs', 'questions', 'sessions', 'tools'];

describe('who may see it', () => {
  it('a link opens once, and sets a cookie that scripts cannot read, no other site sends, and no other path gets', async () => {
    const { link, setCookie, address, front } = await opened();
    expect(setCookie).toMatch(/; Path=\/[\w-]{32}\/; HttpOnly; SameSite=Strict$/);
    expect(setCookie).toContain(`Path=${address.pathname};`);
    expect((await ask(link)).status).toBe(403);
    // Another link works, and only once too.
    const other = front.newLink();
    expect((await ask(other, { method: 'HEAD' })).status).toBe(405);
    expect((await ask(other)).status).toBe(200);
    expect((await ask(other)).status).toBe(403);
  });

  it('a link opens the page again in the browser that has opened it, and in no other', async () => {
    const { link, first, address, cookie } = await opened();
    const [, forLink = ''] = first.headers['set-cookie'] as string[];
    expect(forLink).toContain(`; Path=${new URL(link).pathname}; HttpOnly; SameSite=Strict`);
    const again = await ask(link, { headers: { cookie } });
    expect(again).toMatchObject({ status: 200, body: expect.stringContaining(address.pathname) });
    expect((await ask(link, { headers: { cookie: `${cookie}x` } })).status).toBe(403);
  });

  it('a link that a person opened leads on by itself, and one in another web page by a document, which brings the cookie', async () => {
    const { front } = await opened();
    const from = (site: string) => ({ 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' });
    const own = await ask(front.newLink(), { headers: from('none') });
    const [cookie = ''] = own.headers['set-cookie'] as string[];
    expect(own).toMatchObject({ status: 303, body: '' });
    expect(cookie).toContain(`; Path=${own.headers['location']}; HttpOnly; SameSite=Strict`);
    const page = new URL(String(own.headers['location']), front.newLink());
    expect(
      (await ask(page, { headers: { cookie: cookie.split(';')[0] ?? '', ...from('none') } })).status,
    ).toBe(200);
    const strange = await ask(front.newLink(), { headers: from('cross-site') });
    expect(strange).toMatchObject({ status: 200, body: expect.stringContaining('http-equiv="refresh"') });
    expect(strange.headers['location']).toBeUndefined();
  });

  it.each([...VIEWS, 'run?run=x', 'files?run=r-1', 'file?run=r-1&name=out/a.html', 'events'])(
    'without the cookie nobody gets /%s, whatever else they show',
    async (name) => {
      const { address, cookie } = await opened();
      const url = new URL(name, address);
      expect((await ask(url)).status).toBe(403);
      expect((await ask(url, { headers: { authorization: 'Bearer msb_a_token_for_mcp' } })).status).toBe(403);
      expect((await ask(url, { headers: { cookie: `${cookie}x` } })).status).toBe(403);
      expect((await ask(url, { headers: { cookie: cookie.slice(0, -1) } })).status).toBe(403);
      expect(
        (await ask(new URL(`/${'x'.repeat(32)}/${name}`, address), { headers: { cookie } })).status,
      ).toBe(403);
    },
  );

  it('with the cookie each view is there', async () => {
    const { see } = await opened();
    for (const name of VIEWS) expect((await see(name)).status, name).toBe(200);
    expect((await see('run?run=x')).status).toBe(404);
    expect((await see('../open/x')).status).toBe(403);
  });

  it('a page that is opened beside another one is told of everything, as its first data may be older than its stream', async () => {
    const { address, cookie, front } = await opened();
    const listen = async () => {
      const asked = request(new URL('events', address), { agent: false, headers: { cookie } }).end();
      onTestFinished(() => void asked.destroy());
      const [stream] = await once(asked, 'response');
      let heard = '';
      stream.setEncoding('utf8').on('data', (text: string) => {
        heard += text;
      });
      return () => heard;
    };
    for (let at = 0; at < 2; at++) {
      const heard = await listen();
      front.look();
      await until(() => heard().includes('data: ["questions","sessions","runs","bridges","now"]'), 'all');
    }
  });

  it('a name that was rebound, another web page and a strange method are refused', async () => {
    const { see, address, cookie } = await opened();
    expect((await see('now', { host: `evil.example:${address.port}` })).status).toBe(403);
    expect((await see('now', { host: '127.0.0.1' })).status).toBe(403);
    expect((await see('now', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })).status).toBe(
      403,
    );
    // A page of another port of this machine is of the same site.
    expect((await see('now', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' })).status).toBe(403);
    expect((await ask(new URL('now', address), { method: 'PUT', headers: { cookie } })).status).toBe(405);
  });
});

describe('what it is made of', () => {
  it('no answer can be framed, cached or guessed at, and none lets code in but its own file', async () => {
    const { see, first, post } = await opened();
    const answers = [first, await see(''), await see('now'), await see('nothing'), await post('answer', {})];
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'");
      expect(policy).toContain("require-trusted-types-for 'script'");
      expect(policy).not.toMatch(/unsafe|nonce|https?:/);
    }
  });

  it('the document has no code, no style and no word of anybody else in it', async () => {
    const { see } = await opened({ client: '<script>alert(1)</script>' });
    const { body } = await see('');
    expect(body).not.toMatch(/<script>|<style|\son\w+=|style=|alert/);
    const { headers } = await see('questions');
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
  });
});

describe('an answer', () => {
  it('counts with the token of its question, and the word goes with it', async () => {
    const { post, shown, answers } = await opened();
    const fields = { id: shown.id, token: shown.token, decision: 'no', word: ' not today ' };
    expect(await post('answer', fields)).toMatchObject({
      status: 200,
      body: 'Allowed once by ann on the page.\n',
    });
    expect(answers).toEqual([{ decision: 'no', word: 'not today' }]);
  });

  it.each([
    ['without a token', { token: '' }, {}, 403],
    ['with the token of a session', 'session', {}, 403],
    ['with a decision that is none', { decision: 'maybe' }, {}, 403],
    ['with a decision that is not offered', { decision: 'session' }, {}, 403],
    ['to a question that has ended', { id: 'q-0000000000000000' }, {}, 409],
    ['from another origin', {}, { origin: 'http://127.0.0.1:1' }, 403],
    ['without an origin', {}, { origin: '' }, 403],
    ['of another site by its own word', {}, { 'sec-fetch-site': 'same-site' }, 403],
    ['that is no form', {}, { 'content-type': 'application/json' }, 415],
    ['without the cookie', {}, { cookie: '' }, 403],
  ] as const)('%s counts for nothing', async (_what, changed, headers, status) => {
    const { post, shown, shownSession, answers } = await opened();
    const other = changed === 'session' ? { token: shownSession.token } : changed;
    const fields = { id: shown.id, token: shown.token, decision: 'once', ...other };
    expect((await post('answer', fields, headers)).status).toBe(status);
    expect(answers).toEqual([]);
    // The control: the same form as the page sends it.
    expect((await post('answer', { id: shown.id, token: shown.token, decision: 'once' })).status).toBe(200);
  });

  it('to a text that was exchanged after it was shown counts for nothing', async () => {
    const { post, shown, asked, answers } = await opened();
    Object.assign(asked, { digest: 'another digest' });
    const sent = await post('answer', { id: shown.id, token: shown.token, decision: 'once' });
    expect(sent.status).toBe(403);
    expect(answers).toEqual([]);
  });

  it('to what is too long to be shown can only be a denial', async () => {
    const { post, shown, answers } = await opened({
      object: withArguments(JSON.stringify('x'.repeat(2_000_001))),
    });
    expect(shown).toMatchObject({ offers: ['no'] });
    expect(shown.calls).toBeUndefined();
    const fields = { id: shown.id, token: shown.token };
    expect((await post('answer', { ...fields, decision: 'once' })).status).toBe(403);
    expect((await post('answer', { ...fields, decision: 'no' })).status).toBe(200);
    expect(answers).toEqual([{ decision: 'no', word: undefined }]);
  });

  it('that is too large is refused before it is read', async () => {
    const { post, shown, answers } = await opened();
    const fields = { id: shown.id, token: shown.token, decision: 'once', word: 'x'.repeat(20_000) };
    expect((await post('answer', fields)).status).toBe(413);
    expect(answers).toEqual([]);
  });
});

it('a session is ended by the token of its own form, and by no other', async () => {
  const { post, shown, shownSession, ended } = await opened();
  const id = shownSession.handle;
  expect((await post('end', { id, token: shown.token })).status).toBe(403);
  expect((await post('end', { id: 's-other', token: shownSession.token })).status).toBe(403);
  expect(ended).toEqual([]);
  expect((await post('end', { id, token: shownSession.token })).status).toBe(200);
  expect(ended).toEqual(['figures']);
});

describe('files of a run', () => {
  const fileOf = (name: string, mimeType: string, content: string | undefined): RunFile => ({
    ...{ name, mimeType, sizeBytes: content?.length ?? 0 },
    read: async () => (content === undefined ? undefined : Buffer.from(content)),
  });
  const HTML = '<script>globalThis.ran=1</script>';

  it.each([
    ['out/a.html', 'text/html', 'a.html'],
    ['out/a.svg', 'image/svg+xml', 'a.svg'],
    ['out/../../etc/passwd', 'text/plain', 'passwd'],
    ['out/a"; filename=b.exe', 'application/octet-stream', 'a___filename_b.exe'],
    ["out/b'(1)*.txt", 'text/plain', 'b__1__.txt'],
    ['out/\u4e2d\u6587.csv', 'text/csv', '__.csv'],
    ['out/a\r\nset-cookie: x=1', 'text/plain', 'a__set-cookie__x_1'],
    ['out/', 'text/plain', 'out'],
  ])('the browser saves %j of type %s and never shows it, whatever is in it', async (name, type, plain) => {
    const { see } = await opened({}, [fileOf(name, type, HTML)]);
    const { status, headers, body } = await see(`file?${new URLSearchParams({ run: 'r-1', name })}`);
    expect({ status, body }).toEqual({ status: 200, body: HTML });
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-security-policy': expect.stringMatching(/^sandbox; default-src 'none'/),
    });
    const disposition = String(headers['content-disposition']);
    expect(disposition).toMatch(/^attachment; filename="[\w.-]+"; filename\*=UTF-8''[\w.!~%-]+$/);
    expect(disposition).toContain(`filename="${plain}"`);
    expect(headers['set-cookie']).toBeUndefined();
  });

  it('the page shows texts and four kinds of pictures, and saves everything else', async () => {
    const types = ['text/csv', 'application/json', 'image/png', 'image/svg+xml', 'application/pdf', 'text/'];
    const { see } = await opened(
      {},
      types.map((type) => fileOf(`of ${type}`, type, 'x')),
    );
    const listed = JSON.parse((await see('files?run=r-1')).body) as { shows?: string }[];
    expect(listed.map(({ shows }) => shows)).toEqual([
      ...['text', 'text', 'png'],
      ...[undefined, undefined, undefined],
    ]);
  });

  it('a file that is gone says so, and a run that nobody knows has none', async () => {
    const { see } = await opened({}, [fileOf('out/a.txt', 'text/plain', undefined)]);
    for (const name of ['out/a.txt', 'out/b.txt', '']) {
      const { status, body } = await see(`file?run=r-1&name=${name}`);
      expect({ status, body }).toEqual({ status: 410, body: expect.stringContaining('not kept any more') });
    }
    expect((await see('file?run=r-2&name=out/a.txt')).status).toBe(404);
    expect((await see('files?run=r-2')).status).toBe(404);
    expect((await see('file')).status).toBe(404);
  });
});
