// A host program that reaches the bridge over HTTP with OAuth: it is given the address alone, its own command logs its user in at
// the authorization server (authorization.mjs), and browser.mjs takes the person's place. Findings as in judge.mjs.

import { mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { playOverHttp } from './over-http.mjs';

const BROWSER = fileURLToPath(new URL('browser.mjs', import.meta.url));
/** How the authorization server notes that it has given somebody a token. */
const TOKEN_GIVEN = 'POST /token 200';
const WORDS_CHARS = 300;

/** `session` is one whose home has no servers; `ref` is what the bridge itself says (trials.mjs). */
export async function judgeOAuth(session, ref, { url, authorization }) {
  const { prepared, saw, held } = await playOverHttp(session, ref, async ({ home, host, theirs, typed }) => {
    const args = host.addRemote({ home, name: 'sandbox', url });
    if (args !== undefined) await theirs(args);
    const wasLoggedOut = host.isLoggedOut.test(stripVTControlCharacters(await theirs(host.list)));
    const noted = authorization.requests.length;
    const login = await typed(host.login('sandbox'), { more: withBrowser(home), asks: host.asks });
    const isLoggedIn = authorization.requests.slice(noted).includes(TOKEN_GIVEN);
    return { wasLoggedOut, isLoggedIn, login };
  });
  const { wasLoggedOut, isLoggedIn, login } = prepared;
  const parts = [
    wasLoggedOut ? 'first refused' : 'not refused without a login',
    isLoggedIn ? 'logged in' : `not logged in (${login.code}: ${login.said.slice(-WORDS_CHARS)})`,
    saw,
  ];
  return [{ what: 'over OAuth', saw: parts.join('; '), held: wasLoggedOut && isLoggedIn && held }];
}

/** Environment of a program that opens a browser, so that it opens ours. */
function withBrowser(home) {
  const bin = join(home, 'bin');
  const opener = join(bin, 'xdg-open');
  mkdirSync(bin);
  symlinkSync(BROWSER, opener);
  // Without a display some open none.
  return { PATH: `${bin}${delimiter}${process.env.PATH}`, BROWSER: opener, DISPLAY: ':0' };
}
