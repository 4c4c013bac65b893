// Events of the process that serves; and the words of all rooms for their events, put together.

import { type EventWords, oneLine } from '../../base/log/events.js';
import { engineEventWords } from '../../engine/events.js';
import { hostEventWords } from '../../hosts/events.js';
import { callEventWords } from '../../mcp/events.js';
import { policyEventWords } from '../../policy/events.js';
import { runEventWords } from '../../run/events.js';
import { sandboxEventWords } from '../../sandbox/events.js';
import { serverEventWords } from '../../servers/events.js';
import { serviceEventWords } from '../../service/events.js';
import { tenantEventWords } from '../../tenant/events.js';
import { watchEventWords } from '../../watch/events.js';

declare module '../../base/log/events.js' {
  interface EventTable {
    readonly 'settings.wrong': { readonly message: string };
    readonly 'bridge.closing': { readonly reason: string };
    /** Figures or traces that cannot be sent, and variables about them without effect; `message` is a sentence. */
    readonly 'figures.trouble': { readonly message: string };
    /** A window that may share a bridge has one of its own. */
    readonly 'bridge.alone': { readonly reason: string };
    /** A window of a shared bridge has come. */
    readonly 'bridge.joined': { readonly window: number; readonly pid: number };
  }
}

const servingEventWords = {
  'settings.wrong': ({ message }) => ['error', `no code runs until this is corrected: ${oneLine(message)}`],
  'bridge.closing': ({ reason }) => ['info', `closing: ${oneLine(reason)}`],
  'figures.trouble': ({ message }) => ['warn', `figures: ${oneLine(message)}`],
  'bridge.alone': ({ reason }) => ['info', `this window has a bridge of its own: ${oneLine(reason)}`],
  'bridge.joined': ({ window, pid }) => ['info', `window ${window} of the shared bridge, process ${pid}`],
} satisfies Partial<EventWords>;

/** The words of every event, for one log. A room that declares events and is missing here keeps this from compiling. */
export const eventWords = (): EventWords => ({
  ...hostEventWords,
  ...engineEventWords,
  ...sandboxEventWords(),
  ...serverEventWords,
  ...policyEventWords,
  ...runEventWords(),
  ...tenantEventWords,
  ...callEventWords,
  ...serviceEventWords,
  ...watchEventWords,
  ...servingEventWords,
});
