// What the trial of hosts over OAuth is made of: its authorization server, and the browser that nobody sits at.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, expect, it } from 'vitest';

type Authorization = {
  readonly issuer: string;
  readonly requests: readonly string[];
  firstSeconds: number;
  close(): void;
};
type Page = { readonly url: string; readonly status: number };

const load = (name: string) => import(new URL(`../../scripts/agents/${name}.mjs`, import.meta.url).href);
const { serveAuthorization, SCOPE } = (await load('authorization')) as {
  serveAuthorization: () => Promise<Authorization>;
  SCOPE: string;
};
const { visit, PERSON } = (await load('browser')) as {
  visit: (address: string) => Promise<Page>;
  PERSON: string;
};
const { judgeOAuth } = (await load('over-oauth')) as {
  judgeOAuth: (session: object, ref: object, http: object) => Promise<{ saw: string; held: boolean }[]>;
};

const RESOURCE = 'http://127.0.0.1:9/mcp';
/** Of RFC 7636, appendix B. */
const PROOF = {
  verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
};

const authorization = await serveAuthorization();
afterAll(() => authorization.close());

it('whoever registers gets a token for the resource that it asked for, once the person has logged in', async () => {
  const { issuer } = authorization;
  // The browser ends at an address that answers: the issuer's own.
  const callback = `${issuer}/.well-known/oauth-authorization-server`;
  const registered = await fetch(`${issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: 'none' }),
  });
  const { client_id: client } = (await registered.json()) as { client_id: string };
  const asked = new URLSearchParams({
    ...{ response_type: 'code', client_id: client, redirect_uri: callback, scope: SCOPE, resource: RESOURCE },
    ...{ code_challenge: PROOF.challenge, code_challenge_method: 'S256' },
  });
  const page = await visit(`${issuer}/auth?${asked}`);
  const code = new URL(page.url).searchParams.get('code') ?? '';
  authorization.firstSeconds = 7;
  const given = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: 'authorization_code', client_id: client, redirect_uri: callback },
      ...{ code, code_verifier: PROOF.verifier, resource: RESOURCE },
    }),
  });
  const { access_token: token, refresh_token: refresh } = (await given.json()) as Record<string, string>;
  const claims = decodeJwt(token ?? '');
  expect(claims).toMatchObject({ iss: issuer, aud: RESOURCE, sub: PERSON, scope: SCOPE });
  expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(7);
  expect(refresh).toEqual(expect.any(String));
  expect(authorization.requests).toContain('granted authorization_code');
});

it('a host holds only if it was refused first, logged in, was offered the tool and had the same answers', async () => {
  const answers = { text: { text: '42' }, 'tool call': { text: '42' }, error: { text: '42' } };
  const judged = async (list: string, tokens: readonly string[], tool: string, result: string) => {
    const requests: string[] = [];
    const host = {
      addRemote: () => undefined,
      isLoggedOut: /Needs/,
      list: [],
      login: () => [],
      isWell: 'Connected',
    };
    const hands = {
      host,
      theirs: async () => list,
      typed: async () => {
        requests.push(...tokens);
        return { code: 1, said: 'no browser' };
      },
    };
    const play = async (_calls: unknown, { prepare }: { prepare: (hands: object) => Promise<object> }) => {
      const home = mkdtempSync(join(tmpdir(), 'agents-oauth-'));
      const prepared = await prepare({ ...hands, home });
      rmSync(home, { recursive: true });
      const results = Array.from({ length: 3 }, () => ({ text: result }));
      return { listed: 'Connected', prepared, standIn: { turns: [{ tools: [{ name: tool }], results }] } };
    };
    const [finding] = await judgeOAuth(
      { host, play },
      { answers },
      { url: RESOURCE, authorization: { requests } },
    );
    return finding;
  };
  const well = ['Needs login', ['granted authorization_code'], 'sandbox_run_python', '=> 42'] as const;
  expect(await judged(...well)).toEqual({
    what: 'over OAuth',
    saw: 'first refused; logged in; Connected; its tool in the prompt; 3 of 3 answers as over stdio',
    held: true,
  });
  const [list, tokens, tool, result] = well;
  expect(await judged('Connected', tokens, tool, result)).toMatchObject({ held: false });
  expect(await judged(list, [], tool, result)).toMatchObject({
    saw: expect.stringContaining('not logged in (1: no browser)'),
    held: false,
  });
  expect(await judged(list, tokens, 'another', result)).toMatchObject({ held: false });
  expect(await judged(list, tokens, tool, 'else')).toMatchObject({ held: false });
});
