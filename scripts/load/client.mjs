// One client of one principal: it sends calls of tools in one of three ways of speaking MCP over HTTP, and can be patient,
// slow, or gone before the answer.

import { Agent, request as httpRequest } from 'node:http';

/** 2026-07-28; the 2025 revisions in a session; the same without one. */
export const WAYS = ['modern', 'session', 'stateless'];
const ACCEPTED = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const CLIENT = { name: 'load', version: '1' };
/** After so long an answer counts as lost. */
export const LOST_MS = 180_000;

export class LoadClient {
  #port;
  #token;
  #way;
  #ids = 0;
  #session;
  #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor({ port, token, way }) {
    this.#port = port;
    this.#token = token;
    this.#way = way;
  }

  close() {
    this.#agent.destroy();
  }

  /** A bridge that was started anew knows no sessions of the one before. */
  forgetSession() {
    this.#session = undefined;
  }

  /**
   * What a call is answered with: `{ status, text, retryAfter, lost }`. `manner` is 'patient', 'slow' (reads nothing for a
   * while), 'cancels' or 'leaves' (both after `afterMs`; then `gone` is true where no answer had come by then).
   */
  async call(name, args, { manner = 'patient', afterMs = 0 } = {}) {
    if (this.#way === 'session' && this.#session === undefined) {
      const opened = await this.#open();
      if (opened !== undefined) return opened;
    }
    const id = ++this.#ids;
    const params = { name, arguments: args };
    const sent = this.#send(this.#message(id, 'tools/call', params), this.#headers('tools/call', name), {
      isSlow: manner === 'slow',
    });
    if (manner === 'patient' || manner === 'slow') return await sent.answer;
    const timer = setTimeout(() => {
      // Only in a session there is a notification for it; elsewhere a client cancels by hanging up.
      if (manner === 'cancels' && this.#session !== undefined) this.#cancel(id);
      sent.leave();
    }, afterMs);
    const answer = await sent.answer;
    clearTimeout(timer);
    return answer;
  }

  #message(id, method, params) {
    if (this.#way !== 'modern') return { jsonrpc: '2.0', id, method, params };
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': CLIENT,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    return { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
  }

  #headers(method, name) {
    if (this.#way === 'modern')
      return { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name };
    return this.#session === undefined ? {} : { 'mcp-session-id': this.#session };
  }

  /** Undefined where a session is open now, or what was answered instead. */
  async #open() {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: CLIENT };
    const message = { jsonrpc: '2.0', id: ++this.#ids, method: 'initialize', params };
    const answer = await this.#send(message, {}).answer;
    this.#session = answer.headers?.['mcp-session-id'];
    return this.#session === undefined ? answer : undefined;
  }

  #cancel(requestId) {
    const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
    void this.#send(message, this.#headers('', '')).answer;
  }

  #send(message, headers, { isSlow = false } = {}) {
    const outgoing = httpRequest({
      host: '127.0.0.1',
      port: this.#port,
      path: '/mcp',
      method: 'POST',
      agent: this.#agent,
      headers: { ...ACCEPTED, authorization: `Bearer ${this.#token}`, ...headers },
    });
    let hasLeft = false;
    const answer = new Promise((resolve) => {
      let text = '';
      const lost = (why) => resolve(hasLeft ? { gone: true } : { lost: why, text });
      const late = setTimeout(() => {
        lost(`no answer within ${LOST_MS / 1000} s`);
        outgoing.destroy();
      }, LOST_MS);
      outgoing
        .on('error', (/** @type {NodeJS.ErrnoException} */ { code, message: why }) => lost(code ?? why))
        .on('close', () => clearTimeout(late));
      outgoing.on('response', (response) => {
        const { statusCode: status, headers: got } = response;
        if (status === 404) this.forgetSession();
        response.setEncoding('utf8').on('data', (piece) => {
          text += piece;
        });
        response.on('error', () => {});
        response.on('close', () => {
          if (!response.complete) return lost('the connection was lost within the answer');
          return resolve({ status, headers: got, text, retryAfter: Number(got['retry-after'] ?? 0) });
        });
        if (isSlow) {
          response.pause();
          setTimeout(() => response.resume(), 1_500);
        }
      });
    });
    outgoing.end(JSON.stringify(message));
    return {
      answer,
      leave: () => {
        hasLeft = true;
        outgoing.destroy();
      },
    };
  }
}
