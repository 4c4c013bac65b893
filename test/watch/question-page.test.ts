// The page of a bridge's questions over HTTP, as a browser without JavaScript and as an attacker asks for it: only the form that the page
// itself has shown answers, and only the question that it was shown for.

import { request } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import type { Decision, Question } from '../../src/policy/approvals/question.js';
import { QuestionPage } from '../../src/watch/front/question-page.js';
import { inboxAt, question, soon, withArguments } from '../policy/inbox/questions.js';
import { ask, type Got, type Sent } from '../support/browser-request.js';
import { PATIENTLY, pause } from '../support/time.js';

const FORM = 'application/x-www-form-urlencoded';
const originOf = (url: string) => new URL(url).origin;
const tokenIn = (page: string, id: string): string => {
  const article = page.slice(page.indexOf(`<article id="${id}"`));
  return /name="token" value="([^"]+)"/.exec(article)?.[1] ?? '';
};
/** A browser that has opened a link. */
async function visit(link: string) {
  const first = await ask(link);
  const [setCookie = ''] = (first.headers['set-cookie'] ?? []) as string[];
  const cookie = setCookie.split(';')[0] ?? '';
  const place = new URL(/url=(\/[^/]+\/)"/.exec(first.body)?.[1] ?? '/', link).href;
  const see = (name: string, headers: Sent['headers'] = {}) =>
    ask(place + name, { headers: { cookie, ...headers } });
  /** As a browser sends the page's own form. */
  const answer = (
    fields: Readonly<Record<string, string>>,
    headers: Sent['headers'] = {},
    to = `${place}answer`,
  ) =>
    ask(to, {
      method: 'POST',
      headers: {
        cookie,
        'content-type': FORM,
        origin: originOf(place),
        'sec-fetch-site': 'same-origin',
        ...headers,
      },
      body: new URLSearchParams({ plain: '', ...fields }).toString(),
    });
  return { first, cookie, place, see, answer };
}

/** An inbox with one question and its page. */
async function asked(changed: Partial<Question> = {}) {
  const opened = inboxAt();
  const one = question(changed);
  const { answered, withdraw } = opened.inbox.post(one);
  const link = (await opened.inbox.pageOf(one.id)) ?? '';
  const visited = await visit(link);
  const page = await visited.see('plain');
  return { ...opened, ...visited, one, answered, withdraw, link, page, token: tokenIn(page.body, one.id) };
}

describe('a person', () => {
  it.each([
    ['once', undefined],
    ['run', undefined],
    ['always', 'it is only a test'],
    ['no', 'not today'],
  ] as const)('answers %s', async (decision: Decision, word) => {
    await using it = await asked();
    const sent = await it.answer({ id: it.one.id, token: it.token, decision, word: word ?? ' ' });
    expect(sent).toMatchObject({ status: 303, headers: { location: 'plain' } });
    const given = await it.answered;
    expect(given).toEqual({
      decision,
      ...(word === undefined ? {} : { word }),
      by: 'page',
      who: expect.any(String),
    });
    const after = await it.see('plain');
    expect(after.body).toContain('Nothing waits for you.');
    expect(after.body).toMatch(/role="status"[^>]*>(Allowed|Denied)/);
    // It is said once.
    expect((await it.see('plain')).body).toMatch(/role="status"[^>]*><\/p>/);
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
    const [same] = JSON.parse((await it.see('questions')).body);
    expect(same).toMatchObject({ id: it.one.id, offers: ['once', 'no'], token: it.token });
  });

  it('sees the newest first, and all calls of one question', async () => {
    await using it = await asked();
    const next = question({ object: withArguments(...Array.from({ length: 50 }, (_, n) => `{"n":${n}}`)) });
    it.inbox.post(next);
    const { body } = await it.see('plain');
    expect(body.indexOf(next.id)).toBeLessThan(body.indexOf(it.one.id));
    expect(body).toContain('2 questions wait for you.');
    expect(body).toContain('These 50 calls would be sent');
    expect(body.match(/<li>/g)).toHaveLength(51);
  });

  it('is told that it was answered elsewhere, at once', async () => {
    await using it = await asked();
    const events = await new Promise<{ heard: () => string }>((resolve) => {
      let heard = '';
      request(`${it.place}events`, { agent: false, headers: { cookie: it.cookie } }, (stream) => {
        stream.on('data', (chunk: Buffer) => {
          heard += chunk.toString();
        });
        stream.on('error', () => {});
        resolve({ heard: () => heard });
      }).end();
    });
    it.withdraw('answered in the agent');
    await vi.waitFor(() => expect(events.heard()).toMatch(/data: \[.*"questions"/), PATIENTLY);
    const { body } = await it.see('plain');
    expect(body).toContain('Answered in the agent, at ');
    expect(body).not.toContain('<form');
    expect(JSON.parse((await it.see('ended')).body)).toMatchObject([
      { id: it.one.id, why: 'Answered in the agent' },
    ]);
  });

  it('sees questions and no other view: the rest is on the page of ui', async () => {
    await using it = await asked();
    expect((await it.see('')).body).toContain('data-views="questions"');
  });

  it('cannot allow what is too long to be read here', async () => {
    await using it = await asked({ object: withArguments(JSON.stringify('x'.repeat(2_000_001))) });
    const id = it.one.id;
    expect(it.page.body.match(/<button name="decision" value="\w+"/g)).toEqual([
      '<button name="decision" value="no"',
    ]);
    expect(await it.answer({ id, token: it.token, decision: 'once' })).toMatchObject({ status: 403 });
    expect(await it.answer({ id, token: it.token, decision: 'no' })).toMatchObject({ status: 303 });
    expect(await it.answered).toMatchObject({ decision: 'no' });
  });
});

describe('an attacker', () => {
  type Facts = Awaited<ReturnType<typeof asked>>;
  const fields = (it: Facts) => ({ id: it.one.id, token: it.token, decision: 'once' });
  const attempts: Readonly<Record<string, readonly [(it: Facts) => Promise<Got>, number]>> = {
    'with a wrong place': [
      (it) => it.answer(fields(it), {}, `${originOf(it.link)}/${'a'.repeat(32)}/answer`),
      403,
    ],
    'without a place': [(it) => it.answer(fields(it), {}, `${originOf(it.link)}/answer`), 403],
    'without the cookie': [(it) => it.answer(fields(it), { cookie: '' }), 403],
    'with the link that was opened': [(it) => ask(it.link), 403],
    'who asks for the root': [(it) => ask(`${originOf(it.link)}/`), 403],
    'who asks for what is no address': [(it) => it.see('plain', { host: '//' }), 403],
    'from another page': [(it) => it.answer(fields(it), { origin: 'https://evil.example' }), 403],
    'from a page of another port': [(it) => it.answer(fields(it), { origin: 'http://127.0.0.1:1' }), 403],
    'from a page without an origin': [(it) => it.answer(fields(it), { origin: 'null' }), 403],
    'who sends no origin': [
      (it) =>
        ask(`${it.place}answer`, {
          method: 'POST',
          headers: { cookie: it.cookie, 'content-type': FORM },
          body: new URLSearchParams(fields(it)).toString(),
        }),
      403,
    ],
    'whose browser says cross-site': [
      (it) => it.answer(fields(it), { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }),
      403,
    ],
    'who reads from another site': [
      (it) => it.see('plain', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }),
      403,
    ],
    'who listens from another site': [
      (it) => it.see('events', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }),
      403,
    ],
    'with a name that was rebound': [
      (it) =>
        it.answer(fields(it), {
          host: `evil.example:${new URL(it.link).port}`,
          origin: `http://evil.example:${new URL(it.link).port}`,
        }),
      403,
    ],
    'who reads by a name that was rebound': [
      (it) => it.see('plain', { host: `evil.example:${new URL(it.link).port}` }),
      403,
    ],
    'with two origins': [
      (it) =>
        it.answer(fields(it), {
          origin: [originOf(it.link), 'https://evil.example'] as unknown as string,
        }),
      400,
    ],
    'without a port in the name': [(it) => it.see('plain', { host: '127.0.0.1' }), 403],
    'without a token': [(it) => it.answer({ id: it.one.id, decision: 'once' }), 403],
    'with a made-up token': [(it) => it.answer({ ...fields(it), token: 'a'.repeat(43) }), 403],
    'with two decisions': [
      (it) =>
        ask(`${it.place}answer`, {
          method: 'POST',
          headers: { cookie: it.cookie, 'content-type': FORM, origin: originOf(it.link) },
          body: `id=${it.one.id}&token=${it.token}&decision=no&decision=once`,
        }),
      403,
    ],
    'with an unknown decision': [(it) => it.answer({ ...fields(it), decision: 'yes' }), 403],
    'with a decision that is not offered': [(it) => it.answer({ ...fields(it), decision: 'session' }), 403],
    'who answers the list': [(it) => it.answer(fields(it), {}, `${it.place}plain`), 404],
    'with a form as JSON': [(it) => it.answer(fields(it), { 'content-type': 'application/json' }), 415],
    'with a form as plain text': [(it) => it.answer(fields(it), { 'content-type': 'text/plain' }), 415],
    'with another method': [(it) => ask(`${it.place}answer`, { method: 'PUT' }), 405],
    'with an answer in the address': [
      (it) => it.see(`answer?${new URLSearchParams(fields(it)).toString()}`),
      404,
    ],
    'with too large a body': [(it) => it.answer({ ...fields(it), word: 'x'.repeat(20_000) }), 413],
    'with too large a body of unknown length': [
      (it) => it.answer({ ...fields(it), word: 'x'.repeat(20_000) }, { 'transfer-encoding': 'chunked' }),
      413,
    ],
    'with too large headers': [(it) => it.see('plain', { cookie: 'x'.repeat(10_000) }), 431],
  };

  it.each(Object.entries(attempts))('%s answers nothing', async (_who, [attempt, status]) => {
    await using it = await asked();
    expect((await attempt(it)).status).toBe(status);
    expect(await soon(it.answered, 30)).toBeUndefined();
    // The control: the page's own form gets through.
    expect((await it.answer(fields(it))).status).toBe(303);
    expect(await it.answered).toMatchObject({ decision: 'once' });
  });

  it('cannot use the form of another question', async () => {
    await using it = await asked();
    const other = question({ rule: 'another' });
    const { answered } = it.inbox.post(other);
    expect((await it.answer({ ...fields(it), id: other.id })).status).toBe(403);
    expect(await soon(answered, 30)).toBeUndefined();
  });

  it('sends a form again: the first answer stays, and the second is told of it', async () => {
    await using it = await asked();
    await it.answer({ ...fields(it), decision: 'no', word: 'never' });
    const second = await it.answer(fields(it));
    expect(second.status).toBe(409);
    expect(second.body).toMatch(
      /too late, and changes nothing. The question had ended: denied by [^<]+ on the page: never/,
    );
    expect(await it.answered).toMatchObject({ decision: 'no' });
  });

  it('sends the form after the question has ended', async () => {
    await using it = await asked();
    it.withdraw('expired');
    expect(await it.answer(fields(it))).toMatchObject({ status: 409 });
    expect(await soon(it.answered, 30)).toBeUndefined();
  });

  it('is another principal: neither sees nor answers', async () => {
    await using it = await asked({ principal: 'ann' });
    const eves = question({ principal: 'eve' });
    const eve = it.inbox.post(eves);
    const hers = await visit((await it.inbox.pageOf(eves.id)) ?? '');
    expect((await hers.see('plain')).body).not.toContain(it.one.id);
    expect((await hers.see('questions')).body).not.toContain(it.one.id);
    expect((await hers.answer(fields(it))).status).toBe(409);
    // Her token is not for it either, and his is not good in her browser for hers.
    const token = tokenIn((await hers.see('plain')).body, eves.id);
    expect((await hers.answer({ ...fields(it), token })).status).toBe(409);
    expect((await hers.answer({ ...fields(it), id: eves.id })).status).toBe(403);
    expect(await soon(it.answered, 30)).toBeUndefined();
    expect((await hers.answer({ id: eves.id, token, decision: 'once' })).status).toBe(303);
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
    expect(body).not.toMatch(/<script\b/);
    expect(body).not.toMatch(/<img|onerror=alert\(1\)>(?!&)/);
    expect(body).not.toMatch(/[\u202e\u200b]/);
    expect(body).toContain('\\u202e\\u200b\\n\\&quot;to\\&quot;: 1');
    expect(await it.answer(fields(it))).toMatchObject({ status: 303 });
  });
});

it('says to browsers that nothing from elsewhere belongs here', async () => {
  await using it = await asked();
  for (const { headers } of [it.first, it.page, await it.see('')]) {
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'content-type': 'text/html; charset=utf-8',
    });
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|nonce/);
  }
  expect(it.page.body).not.toMatch(/(?:src|href|action)="(?!page\.css"|plain"|answer"|data:,)/);
});

describe('the server', () => {
  it('is one, however often it is asked for, on this machine alone', async () => {
    await using it = await asked();
    const urls = await Promise.all([it.inbox.pageOf(it.one.id), it.inbox.pageOf(it.one.id)]);
    expect(urls).toEqual([it.link, it.link]);
    expect(new URL(it.link).hostname).toBe('127.0.0.1');
    expect(new URL(it.link).pathname).toMatch(/^\/open\/[\w-]{32}$/);
  });

  it('ends when nothing has been asked for a while, and comes again elsewhere', async () => {
    await using opened = inboxAt(undefined, {
      openPage: (source, options) => QuestionPage.open(source, { ...options, idleMs: 100 }),
    });
    const first = question();
    const { withdraw } = opened.inbox.post(first);
    const link = (await opened.inbox.pageOf(first.id)) ?? '';
    await pause(300);
    expect((await ask(link)).status).toBe(200);
    withdraw('expired');
    await vi.waitFor(() => expect(ask(link)).rejects.toThrow(/ECONNREFUSED|socket hang up/), PATIENTLY);
    const second = question();
    opened.inbox.post(second);
    const next = (await opened.inbox.pageOf(second.id)) ?? '';
    expect(next.split('/').at(-1)).not.toBe(link.split('/').at(-1));
    expect((await ask(next)).status).toBe(200);
  });

  it('ends with the inbox, although a browser listens', async () => {
    const it = await asked();
    await new Promise((resolve) => {
      request(`${it.place}events`, { agent: false, headers: { cookie: it.cookie } }, (stream) => {
        stream.on('error', () => {}).resume();
        resolve(undefined);
      }).end();
    });
    await it[Symbol.asyncDispose]();
    await expect(ask(it.link)).rejects.toThrow();
    expect(await it.inbox.pageOf(it.one.id)).toBeUndefined();
  });
});
