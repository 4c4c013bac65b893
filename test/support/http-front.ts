// An HTTP front over a small server of MCP: tools that are slow, report progress, log, ask, and send large answers. Who asks
// is read from a bearer token of the form `NAME`; without one it is refused.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inputRequired, Server } from '@modelcontextprotocol/server';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { LOCAL_USER, type Principal } from '../../src/base/principal.js';
import { HttpFront, type HttpFrontOptions } from '../../src/service/endpoint/front.js';
import { parseHttpAddress } from '../../src/service/http/address.js';
import { HTTP_LIMITS, type HttpFrontParts, type HttpLimits } from '../../src/service/http/parts.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';

export const principalOf = (name: string): Principal => ({
  ...LOCAL_USER,
  id: `token:${name}`,
  name,
});

export type Stub = {
  readonly front: HttpFront;
  readonly url: URL;
  readonly events: BridgeEvent[];
  /** Calls of `slow` that have begun, and those that were cancelled. */
  readonly slow: { begun: number; cancelled: number };
  /** Lets every call of `slow` end. */
  readonly release: () => void;
  /** Tokens that count no more. */
  readonly revoked: Set<string>;
};

type StubOptions = {
  readonly address?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: Partial<HttpLimits>;
  readonly parts?: Partial<HttpFrontParts>;
};

/** Opens a front; `opened` gets what has to be disposed. */
export async function stubFront(
  opened: AsyncDisposable[],
  { address = '127.0.0.1:0', env = {}, limits = {}, parts = {} }: StubOptions = {},
): Promise<Stub> {
  const events: BridgeEvent[] = [];
  const slow = { begun: 0, cancelled: 0 };
  const revoked = new Set<string>();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { settings } = parseSettings(env, hostFacts());
  const options: HttpFrontOptions = {
    address: parseHttpAddress(address),
    limits: { ...HTTP_LIMITS, ...limits },
    parts: {
      serverFor: (principal) => stubServer(principal, slow, released),
      authenticate: async ({ authorization, isPrivateSocket }) => {
        if (isPrivateSocket) return { principal: LOCAL_USER };
        const name = /^Bearer (\w+)$/.exec(authorization?.[0] ?? '')?.[1];
        if (name !== undefined && !revoked.has(name)) return { principal: principalOf(name) };
        return {
          refusal: {
            status: 401,
            headers: { 'www-authenticate': 'Bearer' },
            body: { error: 'Show a token.' },
          },
        };
      },
      hasCredentials: true,
      readiness: () => true,
      observer: (event) => events.push(event),
      settings: settings.http,
      ...parts,
    },
  };
  const front = await HttpFront.open(options);
  opened.push(front);
  const url = new URL(front.address.startsWith('http') ? front.address : 'http://localhost/mcp');
  return { front, url, events, slow, release, revoked };
}

const TOOLS = ['whoami', 'slow', 'progress', 'log', 'ask', 'large', 'chatter'];

function stubServer(principal: Principal, slow: Stub['slow'], released: Promise<void>): Server {
  const server = new Server(
    { name: 'stub', version: '1' },
    { capabilities: { tools: { listChanged: true }, logging: {} } },
  );
  const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
  server.setRequestHandler('tools/list', () => ({
    tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' as const } })),
  }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, ctx) => {
    const token = ctx.mcpReq._meta?.progressToken;
    if (name === 'whoami') return text(principal.name);
    if (name === 'slow') {
      slow.begun++;
      const { signal } = ctx.mcpReq;
      await Promise.race([
        released,
        new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => {
            slow.cancelled++;
            resolve();
          }),
        ),
      ]);
      return text('done');
    }
    if (name === 'progress') {
      for (const progress of [1, 2, 3])
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: token ?? 0, progress, total: 3 },
        });
      return text('three steps');
    }
    if (name === 'log') {
      await ctx.mcpReq.log('info', 'a line', 'stub');
      return text('logged');
    }
    if (name === 'ask') {
      const requestedSchema = { type: 'object' as const, properties: { city: { type: 'string' as const } } };
      const { inputResponses } = ctx.mcpReq;
      if (ctx.mcpReq.envelope !== undefined) {
        if (inputResponses !== undefined) return text(JSON.stringify(inputResponses['where']));
        return inputRequired({
          inputRequests: { where: inputRequired.elicit({ message: 'Where?', requestedSchema }) },
          requestState: 'held',
        });
      }
      return text(JSON.stringify(await ctx.mcpReq.elicitInput({ message: 'Where?', requestedSchema })));
    }
    if (name === 'large') return text('x'.repeat(Number(args['bytes'] ?? 1_000_000)));
    if (name === 'chatter') {
      // More than its reader may leave unread.
      for (let at = 0; at < 1_500 && !ctx.mcpReq.signal.aborted; at++) {
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: token ?? 0, progress: at, message: 'y'.repeat(100_000) },
        });
        await new Promise((resolve) => setImmediate(resolve));
      }
      return text('said');
    }
    throw new Error(`no tool ${name}`);
  });
  return server;
}

/** A folder of one's own that is removed at the end. */
export function ownFolder(opened: AsyncDisposable[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'http-front-'));
  opened.push({
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  });
  return folder;
}
