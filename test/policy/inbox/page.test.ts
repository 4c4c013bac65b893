// The page over HTTP, as a browser and as an attacker asks for it: only the form that the page itself has shown answers,
// and only the question that it was shown for.

import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it, vi } from 'vitest';
import type { Decision, Question } from '../../../src/policy/approvals/question.js';
import { ApprovalPage } from '../../../src/policy/page/approval-page.js';
import { PATIENTLY, pause } from '../../support/time.js';
import { inboxAt, question, soon, withArguments } from './questions.js';

type Sent = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};
type Got = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
};

function ask(url: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (answer) => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const FORM = 'application/x-www-form-urlencoded';
const originOf = (url: string) => new URL(url).origin;
const tokenIn = (page: string, id: string): string => {
  const article = page.slice(page.indexOf(`<article id="${id}"`));
  return /name="token" value="([^"]+)"/.exec(article)?.[1] ?? '';
};
/** As a browser sends the page's own form. */
const answer = (url: string, fields: Readonly<Record<string, string>>, headers: Sent['headers'] = {}) =>
  ask(url, {
    method: 'POST',
    headers: { 'content-type': FORM, origin: originOf(url), 'sec-fetch-site': 'same-origin', ...headers },
    body: new URLSearchParams(fields).toString(),
  });

/** An inbox with one question and its page. */
async function asked(changed: Partial<Question> = {}) {
  const opened = inboxAt();
  const one = question(changed);
  const { answered, withdraw } = opened.inbox.post(one);
  const url = (await opened.inbox.pageOf(one.id)) ?? '';
  const page = await ask(url);
  return {
    ...opened,
    one,
    answered,
    withdraw,
    url,
    page,
    token: tokenIn(page.body, one.id),
    list: url.replace(/[^/]+$/, ''),
  };
}

describe('a person', () => {
  it.each([
    ['once', undefined],
    ['run', undefined],
    ['always', 'it is only a test'],
    ['no', 'not today'],
  ] as const)('answers %s', async (decision: Decision, word) => {
    await using it = await asked();
    const sent = await answer(it.url, { token: it.token, decision, word: word ?? ' ' });
    expect(sent).toMatchObject({
      status: 303,
      headers: { location: `${new URL(it.list).pathname}?done=${it.one.id}` },
    });
    const given = await it.answered;
    expect(given).toEqual({
      decision,
      ...(word === undefined ? {} : { word }),
      by: 'page',
      who: expect.any(String),
    });
    const after = await ask(`${it.list}?done=${it.one.id}`);
    expect(after.body).toContain('Nothing waits for you.');
    expect(after.body).toMatch(/role="status"[^>]*>github\.create_issue: (allowed|denied)/);
    // The command line sees it too.
    expect(it.folder.question(it.one.id)).toMatchObject({
      is: 'closed',
      closed: { why: expect.stringContaining('on the page') },
    });
  });

  it('sees the call whole, with numbers as they are, and no button that is not offered', async () => {
    await using it = await asked({ offers: ['once', 'no'], session: 'a-session' });
    const shown = it.page.body.replace(/<[^>]+>/g, '');
    expect(shown).toContain('{ &quot;title&quot;: &quot;Broken&quot;, &quot;n&quot;: 12345678901234567890 }');
    expect(it.page.body.match(/<button name="decision" value="\w+"/g)).toEqual([
      '<button name="decision" value="once"',
      '<button name="decision" value="no"',
    ]);
    for (const fact of ['ask &#39;github.create_*&#39;', '4f1c2a9b-12', 'claude-code 2.1.330', 'a-session'])
      expect(it.page.body).toContain(fact);
  });

  it('sees the newest first, and all calls of one question', async () => {
    await using it = await asked();
    const next = question({ object: withArguments(...Array.from({ length: 50 }, (_, n) => `{"n":${n}}`)) });
    it.inbox.post(next);
    const { body } = await ask(it.list);
    expect(body.indexOf(next.id)).toBeLessThan(body.indexOf(it.one.id));
    expect(body).toContain('These 50 calls would be sent');
    expect(body.match(/<li>/g)).toHaveLength(50);
    expect((await ask(it.url)).body).toContain('One more question waits');
  });

  it('is told that it was answered elsewhere, at once', async () => {
    await using it = await asked();
    const events = await new Promise<{ heard: () => string }>((resolve) => {
      let heard = '';
      request(`${it.list}events`, { agent: false }, (stream) => {
        stream.on('data', (chunk: Buffer) => {
          heard += chunk.toString();
        });
        stream.on('error', () => {});
        resolve({ heard: () => heard });
      }).end();
    });
    it.withdraw('answered in the agent');
    await vi.waitFor(() => expect(events.heard()).toContain('data: changed\n\n'), PATIENTLY);
    const { body } = await ask(it.url);
    expect(body).toContain('data-state="closed"');
    expect(body).toContain('Answered in the agent, at ');
    expect(body).not.toContain('<form');
  });

  it('cannot allow what is too long to be read here', async () => {
    await using it = await asked({ object: withArguments(JSON.stringify('x'.repeat(2_000_001))) });
    expect(it.page.body.match(/<button name="decision" value="\w+"/g)).toEqual([
      '<button name="decision" value="no"',
    ]);
    expect(await answer(it.url, { token: it.token, decision: 'once' })).toMatchObject({ status: 403 });
    expect(await answer(it.url, { token: it.token, decision: 'no' })).toMatchObject({ status: 303 });
    expect(await it.answered).toMatchObject({ decision: 'no' });
  });
});

describe('an attacker', () => {
  type Facts = Awaited<ReturnType<typeof asked>>;
  const fields = (it: Facts) => ({ token: it.token, decision: 'once' });
  const attempts: Readonly<Record<string, readonly [(it: Facts) => Promise<Got>, number]>> = {
    'with a wrong secret': [
      (it) => answer(`${originOf(it.url)}/${'a'.repeat(32)}/${it.one.id}`, fields(it)),
      404,
    ],
    'without a secret': [(it) => answer(`${originOf(it.url)}/${it.one.id}`, fields(it)), 404],
    'who asks for the root': [(it) => ask(`${originOf(it.url)}/`), 404],
    'who asks for what is no address': [
      (it) => ask(it.url, { method: 'POST', headers: { host: '//' } }),
      403,
    ],
    'from another page': [(it) => answer(it.url, fields(it), { origin: 'https://evil.example' }), 403],
    'from a page of another port': [
      (it) => answer(it.url, fields(it), { origin: 'http://127.0.0.1:1' }),
      403,
    ],
    'from a page without an origin': [(it) => answer(it.url, fields(it), { origin: 'null' }), 403],
    'who sends no origin': [
      (it) =>
        ask(it.url, {
          method: 'POST',
          headers: { 'content-type': FORM },
          body: new URLSearchParams(fields(it)).toString(),
        }),
      403,
    ],
    'whose browser says cross-site': [
      (it) => answer(it.url, fields(it), { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }),
      403,
    ],
    'who reads from another site': [
      (it) => ask(it.url, { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' } }),
      403,
    ],
    'who listens from another site': [
      (it) =>
        ask(`${it.list}events`, { headers: { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' } }),
      403,
    ],
    'with a name that was rebound': [
      (it) =>
        answer(it.url, fields(it), {
          host: `evil.example:${new URL(it.url).port}`,
          origin: `http://evil.example:${new URL(it.url).port}`,
        }),
      403,
    ],
    'who reads by a name that was rebound': [
      (it) => ask(it.url, { headers: { host: `evil.example:${new URL(it.url).port}` } }),
      403,
    ],
    'with two origins': [
      (it) =>
        answer(it.url, fields(it), {
          origin: [originOf(it.url), 'https://evil.example'] as unknown as string,
        }),
      400,
    ],
    'without a port in the name': [(it) => ask(it.url, { headers: { host: '127.0.0.1' } }), 403],
    'without a token': [(it) => answer(it.url, { decision: 'once' }), 403],
    'with a made-up token': [(it) => answer(it.url, { token: 'a'.repeat(43), decision: 'once' }), 403],
    'with two decisions': [
      (it) =>
        ask(it.url, {
          method: 'POST',
          headers: { 'content-type': FORM, origin: originOf(it.url) },
          body: `token=${it.token}&decision=no&decision=once`,
        }),
      403,
    ],
    'with an unknown decision': [(it) => answer(it.url, { token: it.token, decision: 'yes' }), 403],
    'with a decision that is not offered': [
      (it) => answer(it.url, { token: it.token, decision: 'session' }),
      403,
    ],
    'who answers the list': [(it) => answer(it.list, fields(it)), 405],
    'with a form as JSON': [(it) => answer(it.url, fields(it), { 'content-type': 'application/json' }), 415],
    'with a form as plain text': [(it) => answer(it.url, fields(it), { 'content-type': 'text/plain' }), 415],
    'with another method': [(it) => ask(it.url, { method: 'PUT' }), 405],
    'with an answer in the address': [(it) => ask(`${it.url}?token=${it.token}&decision=once`), 200],
    'with too large a body': [(it) => answer(it.url, { ...fields(it), word: 'x'.repeat(20_000) }), 413],
    'with too large a body of unknown length': [
      (it) => answer(it.url, { ...fields(it), word: 'x'.repeat(20_000) }, { 'transfer-encoding': 'chunked' }),
      413,
    ],
    'with too large headers': [(it) => ask(it.url, { headers: { cookie: 'x'.repeat(10_000) } }), 431],
  };

  it.each(Object.entries(attempts))('%s answers nothing', async (_who, [attempt, status]) => {
    await using it = await asked();
    expect((await attempt(it)).status).toBe(status);
    expect(await soon(it.answered, 30)).toBeUndefined();
    // The control: the page's own form gets through.
    expect((await answer(it.url, fields(it))).status).toBe(303);
    expect(await it.answered).toMatchObject({ decision: 'once' });
  });

  it('cannot use the form of another question', async () => {
    await using it = await asked();
    const other = question({ rule: 'another' });
    const { answered } = it.inbox.post(other);
    expect((await answer(`${it.list}${other.id}`, fields(it))).status).toBe(403);
    expect(await soon(answered, 30)).toBeUndefined();
  });

  it('sends a form again: the first answer stays, and the second is told of it', async () => {
    await using it = await asked();
    await answer(it.url, { token: it.token, decision: 'no', word: 'never' });
    const second = await answer(it.url, fields(it));
    expect(second.status).toBe(409);
    expect(second.body).toMatch(
      /too late, and changes nothing. The question had ended: denied by [^<]+ on the page: never/,
    );
    expect(await it.answered).toMatchObject({ decision: 'no' });
  });

  it('sends the form after the question has ended', async () => {
    await using it = await asked();
    it.withdraw('expired');
    expect(await answer(it.url, fields(it))).toMatchObject({ status: 409 });
    expect(await soon(it.answered, 30)).toBeUndefined();
  });

  it('is another principal: neither sees nor answers', async () => {
    await using it = await asked({ principal: 'ann' });
    const eves = question({ principal: 'eve' });
    const eve = it.inbox.post(eves);
    const evesUrl = (await it.inbox.pageOf(eves.id)) ?? '';
    const evesList = evesUrl.replace(/[^/]+$/, '');
    expect((await ask(evesList)).body).not.toContain(it.one.id);
    expect((await ask(`${evesList}${it.one.id}`)).status).toBe(404);
    expect((await answer(`${evesList}${it.one.id}`, fields(it))).status).toBe(404);
    expect(await soon(it.answered, 30)).toBeUndefined();
    const token = tokenIn((await ask(evesUrl)).body, eves.id);
    expect((await answer(evesUrl, { token, decision: 'once' })).status).toBe(303);
    expect(await eve.answered).toMatchObject({ decision: 'once' });
  });

  it('writes script and invisible characters into arguments and names: all of it is text', async () => {
    const evil = `</pre><script>alert(1)</script><img src=x onerror=alert(1)>"'&amp;`;
    await using it = await asked({
      object: {
        kind: 'tool',
        server: `s${evil}`,
        tool: 't\u202e',
        calls: [{ arguments: JSON.stringify({ [evil]: `${evil}\u202e\u200b\n"to": 1` }) }],
      },
      ...{ rule: evil, run: evil, client: evil, principal: evil, session: evil },
    });
    const { body } = it.page;
    const scripts = body.match(/<script\b[^>]*>/g);
    expect(scripts).toHaveLength(1);
    expect(scripts?.[0]).toMatch(/nonce="[\w+/=]+"/);
    expect(body).not.toMatch(/<img|onerror=alert\(1\)>(?!&)/);
    expect(body).not.toMatch(/[\u202e\u200b]/);
    expect(body).toContain('\\u202e\\u200b\\n\\&quot;to\\&quot;: 1');
    expect(await answer(it.url, fields(it))).toMatchObject({ status: 303 });
  });
});

it('says to browsers that nothing from elsewhere belongs here', async () => {
  await using it = await asked();
  const nonces = new Set<string>();
  for (const { headers } of [it.page, await ask(it.url)]) {
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'content-type': 'text/html; charset=utf-8',
    });
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; style-src 'nonce-([^']+)'; script-src 'nonce-\1';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    nonces.add(policy);
  }
  expect(nonces.size).toBe(2);
  expect(it.page.body).not.toMatch(/(?:src|href)="(?!\/|data:,)/);
});

describe('the server', () => {
  it('is one, however often it is asked for, on this machine alone', async () => {
    await using it = await asked();
    const urls = await Promise.all([it.inbox.pageOf(it.one.id), it.inbox.pageOf(it.one.id)]);
    expect(urls).toEqual([it.url, it.url]);
    expect(new URL(it.url).hostname).toBe('127.0.0.1');
    expect(new URL(it.url).pathname).toMatch(/^\/[\w-]{32}\/q-\w{16}$/);
  });

  it('ends when nothing has been asked for a while, and comes again elsewhere', async () => {
    await using opened = inboxAt(undefined, {
      openPage: (source, options) => ApprovalPage.open(source, { ...options, idleMs: 100 }),
    });
    const first = question();
    const { withdraw } = opened.inbox.post(first);
    const url = (await opened.inbox.pageOf(first.id)) ?? '';
    await pause(300);
    expect((await ask(url)).status).toBe(200);
    withdraw('expired');
    await vi.waitFor(() => expect(ask(url)).rejects.toThrow(/ECONNREFUSED|socket hang up/), PATIENTLY);
    const second = question();
    opened.inbox.post(second);
    const next = (await opened.inbox.pageOf(second.id)) ?? '';
    expect(next.split('/')[3]).not.toBe(url.split('/')[3]);
    expect((await ask(next)).status).toBe(200);
  });

  it('ends with the inbox, although a browser listens', async () => {
    const it = await asked();
    await new Promise((resolve) => {
      request(`${it.list}events`, { agent: false }, (stream) => {
        stream.on('error', () => {}).resume();
        resolve(undefined);
      }).end();
    });
    await it[Symbol.asyncDispose]();
    await expect(ask(it.url)).rejects.toThrow();
    expect(await it.inbox.pageOf(it.one.id)).toBeUndefined();
  });
});
