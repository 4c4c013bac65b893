// What the page of one bridge's questions is to do in a real browser, mostly without JavaScript, each as [what, check]; a check throws
// where it does not. The same page with JavaScript has its checks in watch-checks.mjs.

import { ok } from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';

/** A name that leads to this machine, as one would that was rebound. */
export const REBOUND = 'rebound.example';
/** The page takes no press for so long after something has moved, and a little more. */
const SETTLED_MS = 1_000;
const UNANSWERED_MS = 400;

const expectSame = (saw, wanted) =>
  ok(Object.is(saw, wanted), `saw ${JSON.stringify(saw)}, not ${JSON.stringify(wanted)}`);
const nothingAfter = (ms) => new Promise((resolve) => setTimeout(resolve, ms, 'nothing'));
const isUnanswered = async ({ answered }) =>
  expectSame(await Promise.race([answered, nothingAfter(UNANSWERED_MS)]), 'nothing');

const PLAIN = { javaScriptEnabled: false };

/** Clicks the button of a decision on the plain page, and waits until it is told. */
const press = async (page, { id }, decision) => {
  await page.click(`#${id} button.${decision}`);
  await page.waitForSelector('[role=status]:not(:empty)');
};

/**
 * Another web site of this machine, with one page.
 * @param {string} markup
 */
export async function otherSite(markup) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html>${markup}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://localhost:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/`,
    close: () => server.close(),
  };
}

const decisions = ['once', 'run', 'session', 'always', 'no'].map((decision) => [
  `without JavaScript the button "${decision}" answers so, and going back offers nothing again`,
  async ({ open, ask }) => {
    const asked = ask();
    const page = await open(await asked.page(), PLAIN);
    await page.fill(`#word-${asked.id}`, 'for a reason');
    await press(page, asked, decision);
    const { word, by, ...given } = await asked.answered;
    expectSame(given.decision, decision);
    expectSame(by, 'page');
    expectSame(word, decision === 'no' || decision === 'always' ? 'for a reason' : undefined);
    await page.goBack();
    await page.waitForSelector(`#${asked.id}.ended`);
    expectSame(await page.locator('form').count(), 0);
  },
]);

const attacks = [
  [
    'posts a form',
    (url, fields) =>
      `<form method="post" action="${url}">${fields.map(([name, value]) => `<input name="${name}" value="${value}">`).join('')}</form><script>document.forms[0].submit()</script>`,
  ],
  [
    'fetches with a form',
    (url, fields) =>
      `<script>fetch('${url}', { method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams(${JSON.stringify(fields)}) })</script>`,
  ],
].map((/** @type {any} */ [what, markup]) => [
  `another web page that ${what}, and knows address and token, answers nothing`,
  async ({ open, ask }) => {
    const asked = ask();
    const own = await open(await asked.page(), PLAIN);
    const token = await own.inputValue(`#${asked.id} [name=token]`);
    const fields = Object.entries({ id: asked.id, token, decision: 'once' });
    const site = await otherSite(markup(new URL('answer', own.url()).href, fields));
    try {
      // In the browser that has the cookie.
      const other = await own.context().newPage();
      await other.goto(site.url);
      await open(site.url, { isNoisy: true });
      await isUnanswered(asked);
      // The control: the same form, sent by the page itself.
      await press(own, asked, 'once');
      expectSame((await asked.answered).decision, 'once');
    } finally {
      site.close();
    }
  },
]);

/** What a stranger may have written, by what it would do, with how it is to be read: each is in every place of a question at once. */
const hostile = /** @type {[string, string, RegExp?][]} */ ([
  ['markup', '<img src=x onerror=alert(1)></pre><script>alert(1)</script>'],
  ['an end of attributes', '" autofocus onfocus=alert(1) x="\' onclick=alert(1)'],
  ['an end of the form', '</form></article><form action=//evil.example><button value=once>Deny</button>'],
  ['a style', '</style><style>.no{display:none}</style>'],
  ['a link', '<a href="javascript:alert(1)">here</a>'],
  ['entities', '&lt;b&gt;&#x202e;&NewLine;'],
  ['a mark of direction', 'eta\u202etsil_eteled\u2066', /eta\\u202etsil_eteled\\u2066/],
  [
    'what is not seen',
    'list\u200b_no\u00adtes\u{e0041}',
    /list\\u200b_no\\(xad|u00ad)tes\\u(\{e0041\}|db40\\udc41)/,
  ],
  ['a carriage return', 'delete_all\rlist_notes', /delete_all\\(x0d|r)list_notes/],
  ['breaks of lines', 'delete_all\nlist_notes\u2028\u2029', /delete_all\\nlist_notes\\u2028\\u2029/],
  ['sequences of terminals', 'list\u001b[31m_notes\u009b0m', /list\\(x1b|u001b)\[31m_notes\\(x9b|u009b)0m/],
]).map(([what, text, seen]) => [
  `${what} in names and arguments is text, and read as what it is`,
  async ({ open, ask, shoot }) => {
    const at = {
      server: `s${text}`,
      tool: `t${text}`,
      rule: `r${text}`,
      session: `n${text}`,
      client: `c${text}`,
      principal: `p${text}`,
    };
    const asked = ask({ ...at, calls: [JSON.stringify({ [text]: text })] });
    const page = await open(await asked.page(), PLAIN);
    const dialogs = [];
    page.on('dialog', (dialog) => dialogs.push(dialog.message()) && dialog.dismiss());
    const own = ask({ principal: 'ann', calls: ['{"to":"ann"}'] });
    const plain = await open(await own.page(), PLAIN);
    await page.reload();
    await shoot(page, what.replaceAll(' ', '-'));
    // As many elements of each name as without it.
    const elements = async (of) =>
      (await of.locator('*').evaluateAll((all) => all.map(({ localName }) => localName))).sort().join();
    expectSame(await elements(page), await elements(plain));
    for (const name of ['h2 .server', 'h2 .tool', 'pre']) {
      const read = (await page.locator(name).textContent()).replaceAll('\\"', '"');
      ok(
        seen === undefined ? read.includes(text) : seen.test(read),
        `${name} is read as ${JSON.stringify(read)}`,
      );
    }
    expectSame(
      /[\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/u.test((await page.locator('article').textContent()).replaceAll('\n', '')),
      false,
    );
    ok(await page.locator('button.no').isVisible(), 'Deny is not seen');
    expectSame(dialogs.length, 0);
    // The control: it is asked for what was said, and answered.
    await press(page, asked, 'no');
    expectSame((await asked.answered).decision, 'no');
  },
]);

/** By WCAG: 4.5 for text. Runs in the browser. */
const lowContrasts = () => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = channels(colour)
      .slice(0, 3)
      .map((value) => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backOf = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (channels(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  return [...document.querySelectorAll('body *')].flatMap((element) => {
    const hasText = [...element.childNodes].some(
      (node) => node.nodeType === 3 && node.textContent.trim() !== '',
    );
    if (
      !hasText ||
      element.tagName === 'SCRIPT' ||
      /** @type {HTMLElement} */ (element).offsetParent === null
    )
      return [];
    const [one, other] = [light(getComputedStyle(element).color), light(backOf(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    return ratio < 4.5 ? [`${element.tagName}.${element.className} ${ratio.toFixed(1)}`] : [];
  });
};

export const CHECKS = [
  ...decisions,
  [
    'Enter in the field of the word answers nothing',
    async ({ open, ask }) => {
      const asked = ask();
      const page = await open(await asked.page(), PLAIN);
      await page.fill(`#word-${asked.id}`, 'hm');
      await page.press(`#word-${asked.id}`, 'Enter');
      await isUnanswered(asked);
    },
  ],
  [
    'with JavaScript the link shows the question, and its button answers',
    async ({ open, ask }) => {
      const asked = ask();
      const page = await open(await asked.page());
      await page.waitForSelector(`#${asked.id}`);
      expectSame(await page.locator('nav a').count(), 1);
      await nothingAfter(SETTLED_MS);
      await page.click(`#${asked.id} button.once`);
      expectSame((await asked.answered).decision, 'once');
    },
  ],
  [
    'what is answered elsewhere says so by itself, and what is being typed stays',
    async ({ open, ask }) => {
      const [asked, other] = [ask(), ask()];
      const page = await open(await asked.page());
      await page.waitForSelector(`#${other.id}`);
      await page.fill(`#word-${asked.id}`, 'half a sent');
      other.withdraw('answered in the agent');
      await page.waitForSelector(`#${other.id}`, { state: 'detached' });
      expectSame(await page.inputValue(`#word-${asked.id}`), 'half a sent');
      await page.waitForFunction(() => document.body.textContent?.includes('Answered in the agent'));
    },
  ],
  [
    'the keyboard alone reaches each button, and Enter presses it',
    async ({ open, ask }) => {
      const asked = ask();
      const page = await open(await asked.page(), PLAIN);
      const reached = [];
      for (let at = 0; at < 12 && reached.at(-1) !== 'no'; at++) {
        await page.keyboard.press('Tab');
        reached.push(await page.locator(':focus').evaluate((element) => element.getAttribute('value') ?? ''));
      }
      expectSame(reached.filter((value) => value !== '').join(), 'once,run,session,always,no');
      await page.keyboard.press('Enter');
      expectSame((await asked.answered).decision, 'no');
    },
  ],
  ...['light', 'dark'].map((colorScheme) => [
    `on a phone, ${colorScheme} and without JavaScript, it fits, can be read, and fingers hit the buttons`,
    async ({ open, ask, shoot }) => {
      const calls = [
        '{"path":"/home/ann/notes.md"}',
        JSON.stringify({ text: 'x'.repeat(5_000), to: 'שלום' }),
      ];
      const asked = ask({ calls, server: 'a-server-with-a-name-that-is-longer-than-a-phone-is-wide' });
      const viewport = { width: 360, height: 740 };
      const page = await open(await asked.page(), { ...PLAIN, viewport, colorScheme });
      await shoot(page, `phone-${colorScheme}`);
      ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        'it scrolls sideways',
      );
      for (const button of await page.locator('button:visible').all())
        ok((await button.boundingBox()).height >= 44, 'a button is too small');
      expectSame((await page.evaluate(lowContrasts)).join(', '), '');
    },
  ]),
  ...hostile,
  ...attacks,
  [
    'no other web page has it in a frame',
    async ({ open, ask }) => {
      const asked = ask();
      const own = await open(await asked.page(), PLAIN);
      const site = await otherSite(`<iframe src="${own.url()}"></iframe>`);
      try {
        const page = await own.context().newPage();
        await page.goto(site.url);
        await nothingAfter(SETTLED_MS);
        expectSame(await page.frameLocator('iframe').locator('form').count(), 0);
      } finally {
        site.close();
      }
    },
  ],
  [
    'a name that was rebound to this machine leads nowhere',
    async ({ open, ask }) => {
      const asked = ask();
      const url = (await asked.page()).replace('127.0.0.1', REBOUND);
      const page = await open(url, { isNoisy: true });
      ok((await page.textContent('body')).includes('not known by that name'));
      expectSame(await page.locator('form').count(), 0);
    },
  ],
  [
    'the end of the bridge is told',
    async ({ open, ask, end }) => {
      const asked = ask();
      const page = await open(await asked.page(), { isNoisy: true });
      await page.waitForSelector(`#${asked.id}`);
      await end();
      await page.waitForSelector('.lost:visible');
    },
  ],
];
