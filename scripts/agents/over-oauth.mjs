// A host program that reaches the bridge over HTTP with OAuth: it is given the address alone, its own command logs its user in at
// the authorization server (authorization.mjs), and browser.mjs takes the person's place. Findings as in judge.mjs.

import { mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { pause } from '../bench/stage.mjs';
import { playOverHttp } from './over-http.mjs';

const BROWSER = fileURLToPath(new URL('browser.mjs', import.meta.url));
/** What the authorization server notes of the tokens that it gives. */
const TOKEN_GIVEN = 'granted authorization_code';
const REFRESHED = 'granted refresh_token';
const LOGGED_IN = 'logged in';
const WORDS_CHARS = 300;
const SHORT_SECONDS = 1;
/** By how much the bridge lets clocks differ. */
const BRIDGE_LEEWAY_SECONDS = 30;

/** `session` is one whose home has no servers; `ref` is what the bridge itself says (trials.mjs). */
export async function judgeOAuth(session, ref, http) {
  const { prepared, saw, held } = await playOverHttp(session, ref, (hands) => logIn(hands, http));
  const { wasLoggedOut, loggedIn } = prepared;
  const before = wasLoggedOut ? 'first refused' : 'not refused without a login';
  const isHeld = wasLoggedOut && loggedIn === LOGGED_IN && held;
  return [{ what: 'over OAuth', saw: [before, loggedIn, saw].join('; '), held: isHeld }];
}

/** The same, with an access token that has ended before it is used: the host has to get another without asking its user. */
export async function judgeRefresh(session, ref, http) {
  const { authorization } = http;
  const { requests, firstSeconds } = authorization;
  const noted = requests.length;
  const { prepared, saw, held } = await playOverHttp(session, ref, async (hands) => {
    authorization.firstSeconds = SHORT_SECONDS;
    const { loggedIn } = await logIn(hands, http).finally(() => {
      authorization.firstSeconds = firstSeconds;
    });
    await pause((SHORT_SECONDS + BRIDGE_LEEWAY_SECONDS + 1) * 1000);
    return { loggedIn };
  });
  const asked = requests.slice(noted);
  const isRefreshed = asked.includes(REFRESHED);
  const refused = asked.filter((request) => request.startsWith('refused'));
  const how = isRefreshed ? 'another token without its user' : ['no other token', ...refused].join(', ');
  return [{ what: 'refresh', saw: [prepared.loggedIn, how, saw].join('; '), held: isRefreshed && held }];
}

/** { wasLoggedOut, loggedIn }, after the host has been told of the bridge and its user has logged in. */
async function logIn({ home, host, theirs, typed }, { url, authorization }) {
  const args = host.addRemote({ home, name: 'sandbox', url });
  if (args !== undefined) await theirs(args);
  const wasLoggedOut = host.isLoggedOut.test(stripVTControlCharacters(await theirs(host.list)));
  const noted = authorization.requests.length;
  const { code, said } = await typed(host.login('sandbox'), { more: withBrowser(home), asks: host.asks });
  const isLoggedIn = authorization.requests.slice(noted).includes(TOKEN_GIVEN);
  return {
    wasLoggedOut,
    loggedIn: isLoggedIn ? LOGGED_IN : `not logged in (${code}: ${said.slice(-WORDS_CHARS)})`,
  };
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
