// What everybody may read: whether the bridge lives, whether it can run code, and where OAuth says who may come in.

import { problem } from './answers.js';
import type { HostAndOrigin } from './host-and-origin.js';
import type { Answer, HttpFrontParts, RequestFacts } from './parts.js';

const METHODS = 'GET, HEAD';
const RETRY_WHILE_DRAINING = { 'retry-after': '1' };

export class PublicDocuments {
  readonly #parts: Pick<HttpFrontParts, 'readiness' | 'wellKnown'>;
  readonly #names: HostAndOrigin;

  constructor(parts: Pick<HttpFrontParts, 'readiness' | 'wellKnown'>, names: HostAndOrigin) {
    this.#parts = parts;
    this.#names = names;
  }

  /** The answer at `/healthz` and `/readyz`; undefined at every other path. A bridge that drains is not ready. */
  async health({ path, method }: RequestFacts, isDraining: boolean): Promise<Answer | undefined> {
    if (path !== '/healthz' && path !== '/readyz') return undefined;
    if (!isRead(method)) return problem(405, `${path} takes ${METHODS}.`, { allow: METHODS });
    if (path === '/healthz') return { status: 200, body: { status: 'ok' } };
    if (isDraining)
      return problem(503, 'The bridge is shutting down and begins nothing new.', RETRY_WHILE_DRAINING);
    const isReady = await Promise.resolve(this.#parts.readiness()).catch(() => false);
    return isReady
      ? { status: 200, body: { status: 'ready' } }
      : problem(503, 'No code can be run: the log and the command doctor say why.');
  }

  /** The answer at every path but that of MCP: a well-known document, or that there is none; undefined at `/mcp`. */
  at(facts: RequestFacts): Answer | undefined {
    const { path, method } = facts;
    if (path === '/mcp') return undefined;
    const document = path.startsWith('/.well-known/') ? this.#parts.wellKnown?.(facts) : undefined;
    if (document === undefined)
      return problem(
        404,
        'There is /mcp for clients of MCP, and /healthz and /readyz for who watches over it.',
      );
    if (isRead(method)) return document;
    const refusal = problem(405, `This document takes ${METHODS}.`, { allow: METHODS });
    return this.#names.preflight(facts, METHODS) ?? refusal;
  }
}

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';
