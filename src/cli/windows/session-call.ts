// A call of run_python in a session that outlives this command. A session lives in the process of its bridge, so a bridge that
// stays has to make the call: the one that windows share, which this command joins as one more window, and starts where
// there is none.

import { PassThrough } from 'node:stream';
import { BridgeError, messageOf } from '../../base/errors.js';
import { stringify } from '../../base/json/json-text.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { COMMAND_LINE } from '../../run/calls/call-context.js';
import { OUTCOME_KEY, OUTPUT_METHOD, type Outcome, outcomeFromWire } from '../../run/outcome/outcome.js';
import { McpClient } from '../../servers/connection/client.js';
import { MAX_MESSAGE_BYTES, readMessage } from '../../servers/connection/inbound.js';
import { CLOSED_BY_BRIDGE, type Link, type Problem } from '../../servers/connection/link.js';
import { type Joined, type Meeting, meet } from '../../service/windows/meet.js';
import { relay } from '../../service/windows/relay.js';
import { LineSplitter } from '../../wire/lines.js';
import type { ProgramOutput } from '../terminal/pass-on.js';
import { meetingHere } from './start-relay.js';

/**
 * The outcome of a call, whatever the call came to. `signal` interrupts the call, which then still answers, and keeps the
 * session. Throws E_SESSION where no bridge can stay here, and what a bridge answers that knows no such call.
 */
export async function callInSession(
  args: Readonly<Record<string, unknown>>,
  {
    onProgress,
    output,
  }: {
    /** How far it is, in a sentence. */
    readonly onProgress: (sentence: string) => void;
    /** All that it prints, of which the outcome has no more than an answer has room for. */
    readonly output: ProgramOutput;
  },
  signal: AbortSignal,
): Promise<Outcome> {
  const link = await openWindow();
  const { signal: patient } = new AbortController();
  try {
    const client = await McpClient.greet(
      link,
      {
        name: COMMAND_LINE.client,
        capabilities: {},
        onNotification: (method, params) => {
          if (method === OUTPUT_METHOD) addTo(output, params);
        },
        onRequest: () => undefined,
      },
      patient,
    );
    const call = async (given: object, ends: AbortSignal) => {
      const params = { name: 'run_python', arguments: given };
      const onprogress = ({ message }: { readonly message?: string | undefined }) => {
        if (message !== undefined) onProgress(message);
      };
      return outcomeIn(await client.request('tools/call', params, { signal: ends, onprogress }));
    };
    let outcome = await call(args, patient);
    while (outcome.goesOn !== undefined) outcome = await rest(outcome.goesOn.handle, call, signal);
    return outcome;
  } finally {
    await link.close();
  }
}

function addTo(output: ProgramOutput, { stream, text, base64 }: JsonObject): void {
  if ((stream === 'stdout' || stream === 'stderr') && typeof text === 'string')
    output.add(stream, text, typeof base64 === 'string' ? base64 : null);
}

/** The rest of a call that goes on; at `signal`, what it comes to when it is stopped. */
async function rest(
  handle: string,
  call: (args: object, signal: AbortSignal) => Promise<Outcome>,
  signal: AbortSignal,
): Promise<Outcome> {
  if (!signal.aborted) {
    try {
      return await call({ wait: handle }, signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }
  return await call({ stop: handle }, new AbortController().signal);
}

async function openWindow(): Promise<WindowLink> {
  const here = meetingHere(true);
  const met = 'why' in here ? { is: 'alone' as const, why: here.why } : await meet(here);
  if (met.is === 'joined' && !('why' in here))
    return new WindowLink(met, () => meet({ ...here, greeting: { ...here.greeting, isBack: true } }));
  throw new BridgeError(
    'E_SESSION',
    `No session is possible: it needs a bridge that stays after this command, and ${'why' in met ? met.why : 'there is none'}.`,
    {
      fault: 'operator',
      remedy: 'Leave out --session. Or use repl, whose session lasts as long as its terminal.',
    },
  );
}

/** A bridge that died meanwhile is spoken for by the relay, in the text of an answer. */
function outcomeIn(result: object): Outcome {
  const { _meta: meta, content } = result as { readonly _meta?: unknown; readonly content?: unknown };
  const outcome = isObject(meta) ? meta[OUTCOME_KEY] : undefined;
  if (isObject(outcome)) return outcomeFromWire(outcome);
  const [part] = Array.isArray(content) ? content : [];
  const text =
    isObject(part) && typeof part['text'] === 'string' ? part['text'] : 'The bridge gave no answer.';
  throw new BridgeError('E_SHUTDOWN', text, { fault: 'bridge' });
}

/** The command line's end of a window: a relay as a host's, whose agent is a client in this very process. */
class WindowLink implements Link {
  onclose: Link['onclose'];
  onmessage: Link['onmessage'];
  ending: string | undefined;
  readonly lastWords = '';
  readonly #said = new PassThrough();
  readonly #relayed: Promise<void>;

  constructor(joined: Joined, meetAgain: () => Promise<Meeting>) {
    const answered = new PassThrough();
    const lines = new LineSplitter(MAX_MESSAGE_BYTES, () => {});
    answered.on('data', (chunk: Buffer) => {
      for (const line of lines.push(chunk)) {
        const message = 'text' in line ? readMessage(line.text) : undefined;
        if (message !== undefined) this.onmessage?.(message);
      }
    });
    this.#relayed = relay({
      ...{ input: this.#said, output: answered, log: process.stderr, joined, meetAgain },
    });
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: object): Promise<void> {
    this.#said.write(`${stringify(message)}\n`);
    return Promise.resolve();
  }

  /** An answer that nobody waits for any more is read and dropped by the client. */
  abandon(): void {}

  explain(thrown: unknown): Promise<Problem> {
    return Promise.resolve({
      what: 'could not be reached',
      reason: messageOf(thrown),
      remedy: 'Try again.',
    });
  }

  async close(): Promise<void> {
    this.ending = CLOSED_BY_BRIDGE;
    this.#said.end();
    await this.#relayed;
    this.onclose?.();
  }
}
