// What a browser sends to a page over HTTP: one request on a connection of its own, and a visit that a link begins.

import { request } from 'node:http';
import { text } from 'node:stream/consumers';

export type Sent = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

export type Got = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
};

export function ask(url: string | URL, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (answer) => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** A browser that has opened the link to the page of a service, which opens it once. */
export async function visit(link: string) {
  const first = await ask(link);
  if (first.status !== 200) throw new Error(`${first.status}: ${first.body}`);
  const [setCookie = ''] = first.headers['set-cookie'] as string[];
  const cookie = setCookie.split(';')[0] ?? '';
  const address = new URL(/url=(\/ui\/[^/]+\/)"/.exec(first.body)?.[1] ?? '', link);
  const see = (name: string, headers: Sent['headers'] = {}) =>
    ask(new URL(name, address), { headers: { cookie, ...headers } });
  const data = async (name: string) => JSON.parse((await see(name)).body) as never;
  return { link, setCookie, cookie, address, see, data };
}
