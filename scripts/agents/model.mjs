// A stand-in for a model's API on a local port: plays a script of tool calls and keeps what the host sends it, which is
// all that a model would ever see. Its only state is the conversation that each request carries. It is the host's proxy
// as well: what the host asks of the network is refused and noted.
//
// Turn    = { tools: [{ name, namespace?, description, schema, isDeferred }], results: [Result], body }
// Result  = { isError?, text, images: [{ mimeType, base64 }] }        one for each call, in their order
// Dialect = { read(path, body): Turn | undefined, reply({ call: { id, tool, args } } | { text }, response) }

import { once } from 'node:events';
import { createServer } from 'node:http';

const MAX_REFUSALS_KEPT = 50;
/** What a tokenizer makes of text, roughly; hosts that ask before they show a large result get a usable answer. */
const CHARS_PER_TOKEN = 4;

/** An answer of a bridge that is still being set up. A model does as it says, and this answer is none. */
const SAME_CALL_AGAIN = 'Make the same call again';

export class StandIn {
  /** Every request of the session that offered tools, oldest first. */
  turns = [];
  /** Called with a call's index just before the host is told to make it. */
  onCall = (/** @type {number} */ _index) => {};
  /** Awaited before the answer that has a call's index, or the number of calls for the last one. */
  before = async (/** @type {number} */ _index) => {};
  /** Called when the script has been played and the host is told that this was all. */
  onEnd = () => {};
  #refused = new Set();
  #server = createServer((request, response) => {
    this.#answer(request, response).catch((thrown) => response.destroy(thrown));
  });

  /**
   * `calls` are arguments of our tool, which the host calls `toolName` where its request does not list it; or functions
   * that make { name, args } of another tool's call from the results so far.
   */
  constructor(dialect, calls, toolName) {
    this.dialect = dialect;
    this.calls = calls;
    this.toolName = toolName;
    this.#server.on('connect', ({ url }, socket) => {
      this.#refuse(url);
      socket.on('error', () => {});
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
  }

  /** What the host wanted of the network, as `host:port`, once each. */
  get refused() {
    return [...this.#refused].sort();
  }

  /** Its address, once it listens. */
  async open() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (this.#server.address()).port}`;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = parseOrUndefined(text);
    const turn = body && this.dialect.read(request.url, body);
    if (turn === undefined) return this.#answerAside(request.url, body, response);
    const results = turn.results.filter((result) => !result?.text.includes(SAME_CALL_AGAIN));
    this.turns.push({ ...turn, results, body: text });
    const next = results.length;
    await this.before(next);
    const call = this.calls[next];
    if (call === undefined) {
      this.onEnd();
      return this.dialect.reply({ text: 'Done.' }, response);
    }
    this.onCall(next);
    const { name: wanted = 'run_python', args } = typeof call === 'function' ? call(results) : { args: call };
    const listed = turn.tools.find(({ name }) => name.endsWith(wanted));
    const tool = listed ?? { name: typeof call === 'function' ? wanted : this.toolName };
    this.dialect.reply({ call: { id: `call_${turn.results.length}`, tool, args } }, response);
  }

  /** Titles, token counts, lists of models: hosts live without a good answer. */
  #answerAside(path, body, response) {
    if (/^https?:/.test(path)) this.#refuse(new URL(path).host);
    if (body?.stream === true || path.includes(':streamGenerateContent'))
      return this.dialect.reply({ text: 'A title' }, response);
    const counts = path.includes('count_tokens') || path.includes(':countTokens');
    const tokens = Math.ceil(JSON.stringify(body ?? '').length / CHARS_PER_TOKEN);
    response.writeHead(counts ? 200 : 404, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(
        counts ? { input_tokens: tokens, totalTokens: tokens } : { error: { message: 'not here' } },
      ),
    );
  }

  #refuse(what) {
    if (this.#refused.size < MAX_REFUSALS_KEPT) this.#refused.add(what);
  }
}

function parseOrUndefined(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
