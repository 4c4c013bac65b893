#!/usr/bin/env node
// Takes the place of the person at a browser: opens an address, follows redirects with its cookies, submits each form that it is
// shown, and ends at the first page without one. `xdg-open ADDRESS` of a trial is this program (over-oauth.mjs).

import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const MAX_STEPS = 30;
/** What the person types into a field that is empty: the name, and a password that nobody checks. */
export const PERSON = 'ann';

/** The address, status and text of the page where nothing is left to do. */
export async function visit(address) {
  const cookies = new Map();
  let url = new URL(address);
  let body;
  for (let step = 0; step < MAX_STEPS; step++) {
    const jar = cookies.get(url.host) ?? new Map();
    cookies.set(url.host, jar);
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      body,
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      jar.set(name, value);
    }
    const text = await response.text();
    const location = response.headers.get('location');
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
    if (location === null && action === undefined) return { url: url.href, status: response.status, text };
    body = location === null ? filledIn(text) : undefined;
    url = new URL(location ?? action, url);
  }
  throw new Error(`${address} leads to no last page; the ${MAX_STEPS}th was ${url.href}`);
}

function filledIn(page) {
  const fields = page.matchAll(/<input[^>]* name="([^"]+)"(?:[^>]* value="([^"]*)")?/g);
  return new URLSearchParams([...fields].map(([, name, value = PERSON]) => [name, value]));
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { status } = await visit(process.argv[2]);
  process.exitCode = status < 400 ? 0 : 1;
}
