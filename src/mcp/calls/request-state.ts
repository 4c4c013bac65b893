// The `requestState` of an answer `input_required`: it names a job and one round of it. A client may read, change, keep and
// pass it on, so it is authenticated, bound to its principal by the key, to tool and arguments by a digest, and ends. The job,
// which knows its round, sees to it that a state is used once. The SDK has a codec for this, which tells only in words why it
// refuses a state; we tell an old one from a changed one, since the next step differs.

import { createHash, createHmac, timingSafeEqual } from '../../base/crypto.js';
import { isObject } from '../../base/json/records.js';
import { WrongParams } from '../../wire/envelope.js';

const VERSION = 'v1';
/** A state of ours has about 200 characters; nothing longer is looked at. */
const MAX_STATE_CHARS = 1_000;
const UNDIGESTED = '';

/** Tool and arguments of a call, as its client has sent them: a request has to match them to go on with the call. */
export type CallIdentity = { readonly tool: string; readonly args: unknown };

export type Round = {
  /** Id of the job. */
  readonly job: string;
  readonly nonce: string;
  /** In ms since 1970. */
  readonly expiresAtMs: number;
};

const AGAIN = 'Call the tool again without requestState and inputResponses.';

/** Refuses a state with -32602. `data.reason` is the one that the SDK uses. */
export class WrongRequestState extends WrongParams {
  readonly data = { reason: 'invalid_request_state' } as const;

  constructor(why: string) {
    super(`requestState: ${why} ${AGAIN}`);
  }
}

/** `key` is that of all jobs of one principal: it dies with the jobs that a state can name. */
export function mintState({ job, nonce, expiresAtMs }: Round, identity: CallIdentity, key: Buffer): string {
  const payload = JSON.stringify([job, nonce, expiresAtMs, digestOf(identity)]);
  const body = `${VERSION}.${Buffer.from(payload).toString('base64url')}`;
  return `${body}.${macOf(body, key)}`;
}

/**
 * The round that `state` names. Throws WrongRequestState for one that was not made with this key, for one of another call, and
 * for one that has expired.
 */
export function readState(state: string, identity: CallIdentity, key: Buffer): Round {
  const end = state.lastIndexOf('.');
  const body = state.slice(0, Math.max(0, end));
  // Compare texts: readers of base64url pass over what is none, and over bits at the end that make no byte.
  const mac = Buffer.from(state.slice(end + 1));
  const expected = Buffer.from(macOf(body, key));
  const isOurs =
    state.length <= MAX_STATE_CHARS && mac.length === expected.length && timingSafeEqual(mac, expected);
  if (!isOurs)
    // Another principal's state is refused in the same words: nobody learns which states there are.
    throw new WrongRequestState(
      'it was not made by this server process for you, or it was changed. If another process of this server made it, the call has been lost and can be made again.',
    );
  const payload = Buffer.from(body.slice(VERSION.length + 1), 'base64url').toString();
  const [job, nonce, expiresAtMs, digest] = JSON.parse(payload) as [string, string, number, string];
  if (digest === UNDIGESTED || digest !== digestOf(identity))
    throw new WrongRequestState(
      'it belongs to a call of another tool or with other arguments. To go on with that call, send the name and arguments that it was made with.',
    );
  if (Date.now() >= expiresAtMs)
    throw new WrongRequestState('it has expired: the answer came too late, and the call was ended.');
  return { job, nonce, expiresAtMs };
}

/** The id of the job that `state` says it is of, which is to be believed of nobody; '' where it says none. */
export function jobSaidIn(state: string): string {
  if (state.length > MAX_STATE_CHARS || !state.startsWith(`${VERSION}.`)) return '';
  try {
    const [job] = JSON.parse(Buffer.from(state.split('.')[1] ?? '', 'base64url').toString());
    return String(job);
  } catch {
    return '';
  }
}

const macOf = (body: string, key: Buffer): string =>
  createHmac('sha256', key).update(body).digest('base64url');

/** Digest of tool and arguments, in whatever order the keys come: a client may have parsed and written the arguments anew. */
function digestOf({ tool, args }: CallIdentity): string {
  try {
    return createHash('sha256')
      .update(JSON.stringify([tool, args], inOrder))
      .digest('base64url');
  } catch (thrown) {
    // Nested too deeply to be written: no tool takes such arguments.
    if (thrown instanceof RangeError) return UNDIGESTED;
    throw thrown;
  }
}

const inOrder = (_key: string, value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
