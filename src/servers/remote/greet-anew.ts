// The greeting once more, on a new session and behind the SDK's back: its client has greeted once and knows no second
// time. What the server says of itself now is not asked; its tools are listed anew by those above.

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { Redact } from '../../base/secrets/redact.js';
import { clipHarmless } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import { RemoteFailure } from './remote-failure.js';
import type { WaitingRequests } from './waiting.js';
import type { Outgoing, Wire } from './wire.js';

/** What the client said first on the first session, word for word. */
export type FirstWords = { readonly greeting: Outgoing; readonly initialized: Outgoing };
export type Witness = { readonly waiting: WaitingRequests; readonly redact: Redact };

const MAX_SAID_CHARS = 300;

/** Throws RemoteFailure when the server does not want a new session, E_CANCELLED when `signal` ends the attempt. */
export async function greetAnew(
  wire: Wire,
  { greeting, initialized }: FirstWords,
  { waiting, redact }: Witness,
  signal: AbortSignal,
): Promise<void> {
  await wire.open(signal);
  // The number of the first greeting: no request of the client's has it any more.
  const { id } = greeting;
  if (id === undefined) throw new Error('a greeting that wants no answer');
  try {
    const answered = new Promise<JSONRPCMessage>((resolve, reject) => {
      const entry = waiting.add(id, resolve);
      wire.send(greeting, signal).then(() => {
        entry.takenBy = wire;
      }, reject);
    });
    const answer = await unlessAborted(answered, signal);
    if ('error' in answer) {
      const said = clipHarmless(redact(answer.error.message.slice(0, 4 * MAX_SAID_CHARS)), MAX_SAID_CHARS);
      throw noNewSession(`it refuses a new session: ${said}`);
    }
    await wire.send(initialized, signal);
    signal.throwIfAborted();
  } finally {
    waiting.abandon(id);
  }
}

export function noNewSession(reason: string, cause?: unknown): RemoteFailure {
  const remedy = 'Try again later, or tell who runs it.';
  return new RemoteFailure(reason, { fault: 'downstream', remedy, cause });
}
