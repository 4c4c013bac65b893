// The log on stderr: every event as one sentence with a level, as JSON lines for machines or one plain line each
// for a person at a terminal. stdout belongs to MCP and is never touched. Values of variables are never written.

import picocolors from 'picocolors';
import pino from 'pino';
import { isObject } from '../json/records.js';
import type { Redact } from '../secrets/redact.js';
import { shownName } from '../text/shown-name.js';
import {
  type BridgeEvent,
  type EventLevel,
  type EventWords,
  type LogLine,
  type Observer,
  oneLine,
} from './events.js';

/** A log that writes to `sink`, and that tells what the sink has dropped. */
export function openLog(
  options: {
    readonly level: EventLevel | 'silent';
    /** `line` is for people, `json` one object per line. */
    readonly format: 'line' | 'json';
    readonly colour: boolean;
  },
  sink: {
    write(line: string): unknown;
    onRecovered?: (dropped: number) => void;
  },
): pino.Logger {
  const target =
    options.format === 'json'
      ? sink
      : { write: (json: string) => sink.write(humanLine(json, options.colour)) };
  const log = pino(
    {
      level: options.level,
      // Process id and host name say nothing in a log that the host keeps per server.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    target,
  );
  sink.onRecovered = (dropped) => {
    const level = log.isLevelEnabled('warn') ? 'warn' : 'error';
    const lines = dropped === 1 ? '1 line of the log was' : `${dropped} lines of the log were`;
    log[level]({ event: 'log.dropped' }, `${lines} dropped: stderr was full for a while`);
  };
  return log;
}

const COLOURS: Readonly<Record<EventLevel, 'dim' | 'cyan' | 'yellow' | 'red'>> = {
  trace: 'dim',
  debug: 'dim',
  info: 'cyan',
  warn: 'yellow',
  error: 'red',
};

function humanLine(json: string, colour: boolean): string {
  const { time, level, msg } = JSON.parse(json) as { time: string; level: EventLevel; msg: string };
  const paint = picocolors.createColors(colour);
  return `${paint.dim(time.slice(11, 19))} ${paint[COLOURS[level]](level.padEnd(5))} ${msg}\n`;
}

/** Writes each event to `log` by `words`, its texts through `redact`. */
export function logObserver(log: pino.Logger, words: EventWords, redact: Redact): Observer {
  return (event) => {
    const [level, sentence, more = {}] = describeEvent(withoutSecrets(event, redact), words);
    const { type, principal, request } = event;
    const shown = Object.entries(more).map(([name, value]) => [
      name,
      typeof value === 'string' ? oneLine(value) : Array.isArray(value) ? value.map(oneLine) : value,
    ]);
    const fields = {
      event: type,
      ...Object.fromEntries(shown),
      ...(principal && { principal }),
      ...(request && { request }),
    };
    log[level](fields, principal === undefined ? sentence : `${shownName(principal)}: ${sentence}`);
  };
}

/**
 * The event as its words read it, without secrets before anything is cut: of half a secret nobody would know that it is one.
 * What they do not read, such as whole answers of servers, is for other listeners, and not looked through.
 */
function withoutSecrets(event: BridgeEvent, redact: Redact): BridgeEvent {
  const shown = (value: unknown): unknown => {
    if (typeof value === 'string') return redact(value);
    if (Array.isArray(value)) return value.map(shown);
    return isObject(value) ? read(value) : value;
  };
  const read = <T extends object>(fields: T): T =>
    new Proxy(fields, {
      get: (of, name) => (of === event && name === 'type' ? event.type : shown(Reflect.get(of, name))),
    });
  return read(event);
}

/** The log's line for an event. */
export function describeEvent(event: BridgeEvent, words: EventWords): LogLine {
  // The type of a table cannot say that an event's own entry takes the event.
  const describe = words[event.type] as (event: BridgeEvent) => LogLine;
  return describe(event);
}
