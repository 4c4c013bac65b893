// How things are told: whoever does something emits an event; the log and other listeners fold events and never reach into the
// doer. Each room declares its own events in its `events.ts`, with what the log says of each; here none is known by name.

import { clip, makeHarmless } from '../text/text.js';

/**
 * Type of an event to its fields. Rooms add to it by `declare module`. `cli/serving/events.ts` puts together what they say of
 * their events; it does not compile where an event has no words.
 */
// biome-ignore lint/suspicious/noEmptyInterface: rooms fill it, so that an event can be added in the room that sends it.
export interface EventTable {}

/**
 * `principal` is the id of the one that it concerns, where that is another than the user who started the bridge; `request` is
 * the HTTP request that began it.
 */
export type BridgeEvent = {
  [Type in keyof EventTable]: { readonly type: Type } & EventTable[Type];
}[keyof EventTable] & { readonly principal?: string; readonly request?: string };

/** Receives every event, synchronously; it must not throw and must not block. */
export type Observer = (event: BridgeEvent) => void;

export type EventLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** Level, sentence and fields with which the log has an event. Undefined fields are left out. */
export type LogLine = readonly [
  level: EventLevel,
  sentence: string,
  fields?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>,
];

/** The log's line for each event of a table. Asked once for each event. */
export type EventWords<Table = EventTable> = {
  readonly [Type in keyof Table]: (event: Table[Type]) => LogLine;
};

/** One observer that passes each event on to several. */
export function fanOut(...observers: readonly Observer[]): Observer {
  return (event) => {
    for (const observer of observers) observer(event);
  };
}

/** A stranger's text in a log line: long enough to recognise, short enough to read. */
const MAX_TEXT_CHARS = 500;

/** One line, whatever it was, so that nobody can write a log line of their own. */
export const oneLine = (text: string): string =>
  clip(makeHarmless(text).replace(/\n/g, '\\n'), MAX_TEXT_CHARS);

export const milliseconds = (durationMs: number): string => `${Math.round(durationMs)} ms`;
