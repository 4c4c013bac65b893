// The log on stderr: every event as one sentence with a level, as JSON lines for machines or one plain line each
// for a person at a terminal. stdout belongs to MCP and is never touched. Values of variables are never written.

import picocolors from 'picocolors';
import pino from 'pino';
import { ownCommand } from '../process/own-command.js';
import type { Redact } from '../secrets/redact.js';
import { shownName, shownTool } from '../text/shown-name.js';
import { clip, harmless } from '../text/text.js';
import type { BridgeEvent, Observer } from './events.js';

type Log = pino.Logger;
export type LogThreshold = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
type Level = Exclude<LogThreshold, 'silent'>;

export type LogOptions = {
  readonly level: LogThreshold;
  /** `line` is for people, `json` one object per line. */
  readonly format: 'line' | 'json';
  readonly colour: boolean;
};

/** Whatever takes finished lines. One that can drop lines says afterwards how many it has dropped. */
export type LogSink = {
  write(line: string): unknown;
  onRecovered?: (dropped: number) => void;
};

/** A stranger's text in a log line: long enough to recognise, short enough to read. */
const MAX_TEXT_CHARS = 500;

/** Refusals of one run that are logged at their usual level; further ones are logged as debug. */
const MAX_REFUSALS_TOLD = 20;
/** The names come from sandboxes, and a log keeps nothing without an end. */
const MAX_MODULES_TOLD = 100;

/** A log that writes to `sink`, and that tells what the sink has dropped. */
export function openLog(options: LogOptions, sink: LogSink): Log {
  const target =
    options.format === 'json' ? sink : { write: (json: string) => sink.write(humanLine(json, options)) };
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
    log[level]({ event: 'log.dropped' }, `${lines} dropped: stderr took no more for a while`);
  };
  return log;
}

const COLOURS: Readonly<Record<Level, 'dim' | 'cyan' | 'yellow' | 'red'>> = {
  trace: 'dim',
  debug: 'dim',
  info: 'cyan',
  warn: 'yellow',
  error: 'red',
};

function humanLine(json: string, { colour }: LogOptions): string {
  const { time, level, msg } = JSON.parse(json) as { time: string; level: Level; msg: string };
  const paint = picocolors.createColors(colour);
  return `${paint.dim(time.slice(11, 19))} ${paint[COLOURS[level]](level.padEnd(5))} ${msg}\n`;
}

/** Writes each event to `log`, its texts through `redact`. */
export function logObserver(log: Log, redact: Redact): Observer {
  const unloaded = new Set<string>();
  /** Counts the refusals of each run that is under way. */
  const refusals = new Map<string, number>();
  return (event) => {
    const [usualLevel, sentence] = describeEvent(withoutSecrets(event, redact));
    let level = usualLevel;
    // Every sandbox says it again; one warning for each module is enough.
    if (event.type === 'sandbox.unloaded') {
      if (unloaded.has(event.module) || unloaded.size >= MAX_MODULES_TOLD) level = 'debug';
      else unloaded.add(event.module);
    }
    // Code that ignores them can make a thousand in a second.
    if (event.type === 'run.refused') {
      const count = (refusals.get(event.run) ?? 0) + 1;
      refusals.set(event.run, count);
      if (count > MAX_REFUSALS_TOLD) level = 'debug';
    }
    if (event.type === 'run.ended') refusals.delete(event.run);
    const { type, principal, request } = event;
    const fields = { event: type, ...(principal && { principal }), ...(request && { request }) };
    log[level](fields, principal === undefined ? sentence : `${shownName(principal)}: ${sentence}`);
  };
}

/** Before anything is cut: of half a secret nobody would know that it is one. */
function withoutSecrets(event: BridgeEvent, redact: Redact): BridgeEvent {
  const shown = (value: unknown): unknown => {
    if (typeof value === 'string') return redact(value);
    return Array.isArray(value) ? value.map(shown) : value;
  };
  const fields = Object.entries(event).map(([name, value]) => [name, name === 'type' ? value : shown(value)]);
  return Object.fromEntries(fields) as BridgeEvent;
}

/** Level and sentence of an event; an event without a case here does not compile. */
export function describeEvent(event: BridgeEvent): readonly [level: Level, sentence: string] {
  switch (event.type) {
    case 'config.problem':
      return ['warn', `${inline(event.file)} cannot be used as it is: ${inline(event.message)}`];
    case 'settings.wrong':
      return ['error', `no code runs until this is corrected: ${inline(event.message)}`];
    case 'config.discovered':
      return ['debug', `${count(event.ready, 'MCP server')} found, ${event.skipped} passed over`];
    case 'engine.command':
      return [
        'debug',
        `${commandLine(event.argv)}: exit ${event.exitCode ?? 'unknown'} after ${ms(event.durationMs)}`,
      ];
    case 'engine.swept':
      return ['info', `removed ${count(event.removed, 'container')} left by a bridge that has ended`];
    case 'engine.trouble':
      return ['warn', `engine: ${inline(event.message)}`];
    case 'engine.health':
      return event.isWell
        ? ['info', 'sandboxes can be started again']
        : ['error', `no sandbox can be started: ${inline(event.message)}`];
    case 'setup.step':
      return ['debug', `set-up: ${inline(event.step)}`];
    case 'image.progress':
      return ['info', `image ${event.image}: ${inline(event.message)}`];
    case 'image.known':
      return [
        'debug',
        `image ${inline(event.image)} has Python ${inline(event.python)}${event.modules === null ? '' : `, ${inline(event.modules.join(', ')) || 'standard library'}`}`,
      ];
    case 'image.received':
      return ['debug', `image ${inline(event.image)}: ${event.bytes} bytes received`];
    case 'image.building':
      return [
        'info',
        `building ${inline(event.image)}, since ${inline(event.instead)} cannot be pulled: ${inline(event.why)}`,
      ];
    case 'image.built':
      return ['info', `built ${inline(event.image)} in place of ${inline(event.instead)}`];
    case 'image.replaced':
      return [
        'warn',
        `image ${inline(event.image)}, named in ${inline(event.namedIn)}, is not present: ${inline(event.by)} stands in for it; pull it, or take it out of the file`,
      ];
    case 'walls.known':
      return [
        'info',
        `walls: ${inline(event.setup)} (${inline(event.reason)}); limits by ${event.limits}; ${probeWords(event.probe)}`,
      ];
    case 'sandbox.started':
      return ['debug', `sandbox ${event.container} ready after ${ms(event.durationMs)}`];
    case 'sandbox.ended':
      return ['debug', `sandbox ${event.container} ended: ${inline(event.reason)}`];
    case 'sandbox.limit':
      return [
        'info',
        `sandbox ${event.container} killed: ${event.limit} limit ${event.allowed}, seen ${event.seen}`,
      ];
    case 'sandbox.noise':
      return ['debug', `sandbox ${event.container} said: ${inline(event.line)}`];
    case 'sandbox.unloaded':
      return [
        'warn',
        `module ${inline(event.module)} of MCP_BRIDGE_PREIMPORT is not loaded ahead: ${inline(event.error)}`,
      ];
    case 'pool.resting':
      return ['warn', `no sandbox waits for ${ms(event.restMs)}: ${inline(event.reason)}`];
    case 'downstream.connecting':
      return ['debug', `${shownName(event.server)}: connecting`];
    case 'downstream.ready':
      return [
        'info',
        `${shownName(event.server)}: ready with ${count(event.tools, 'tool')} after ${ms(event.durationMs)}`,
      ];
    case 'downstream.failed':
      return ['warn', `${shownName(event.server)}: ${inline(event.message)}`];
    case 'downstream.changed':
      return [
        'warn',
        `${shownName(event.server)}: ${count(event.tools.length, 'tool')} not as first seen: ${inline(event.tools.join(', '))}`,
      ];
    case 'downstream.unusable':
      return ['warn', `${shownName(event.server)}: ${inline(event.problems.join('; '))}`];
    case 'downstream.flooding':
      return [
        'warn',
        event.leftOut === 0
          ? `${shownName(event.server)}: writes more than was asked for and than is read at once, so it has to wait`
          : `${shownName(event.server)}: says more unasked than is heard: ${count(event.leftOut, 'message')} left out`,
      ];
    case 'downstream.closed':
      return ['info', `${shownName(event.server)}: closed, ${inline(event.reason)}`];
    case 'downstream.asked':
      return [
        'debug',
        `${shownName(event.server)}: asked the user: ${inline(event.answer)} after ${ms(event.durationMs)}`,
      ];
    case 'downstream.said':
      return ['debug', `${shownName(event.server)} said (${inline(event.level)}): ${inline(event.text)}`];
    case 'run.queued':
      return ['info', `run ${event.run} waits in the queue, behind ${count(event.ahead, 'run')}`];
    case 'run.started':
      return [
        'info',
        `run ${event.run} (${event.language}) started with ${event.servers.map((name) => shownName(name)).join(', ') || 'no servers'}`,
      ];
    case 'run.call':
      return ['debug', `run ${event.run} called ${shownTool(event.server, event.tool)}: ${outcomeOf(event)}`];
    case 'run.refused':
      return [
        'info',
        `run ${event.run} may not call ${shownTool(event.server, event.tool)}: ${inline(event.message)}`,
      ];
    case 'run.asked': {
      const by = event.by === undefined ? '' : `, by ${inline(event.by)} (${inline(event.who ?? '')})`;
      const what = `${count(event.calls.length, 'call')} of ${shownTool(event.server, event.tool)}`;
      return [
        'info',
        `run ${event.run} asked for ${what}: ${event.answer}${by} after ${ms(event.durationMs)}`,
      ];
    }
    case 'run.ended':
      return [
        'info',
        `run ${event.run}: ${event.status} after ${ms(event.durationMs)}, ${count(event.calls, 'call')}`,
      ];
    case 'http.listening':
      return event.isInClear
        ? [
            'warn',
            `listens at ${inline(event.address)} without TLS: whoever is in between reads tokens and results; set MCP_BRIDGE_HTTP_CERT and MCP_BRIDGE_HTTP_KEY, or name the proxy that has TLS in MCP_BRIDGE_HTTP_PROXIES`,
          ]
        : ['info', `listens at ${inline(event.address)}`];
    case 'http.request':
      return [event.path === '/mcp' ? 'info' : 'debug', requestWords(event)];
    case 'http.session':
      return [
        'debug',
        `session ${event.is}${event.why === undefined ? '' : `, ${event.why}`}; ${event.open} open`,
      ];
    case 'http.trouble':
      return ['debug', `request refused by the SDK: ${inline(event.message)}`];
    case 'http.dropped':
      return ['warn', `${count(event.connections, 'connection')} closed: there are too many`];
    case 'http.tls':
      return event.is === 'reloaded'
        ? ['info', `certificate read anew: ${inline(event.message)}`]
        : ['warn', `the certificate in use stays: ${inline(event.message)}`];
    case 'http.draining':
      return [
        'info',
        `drains: nothing new begins, ${count(event.requests, 'request')} may take ${ms(event.withinMs)} to finish`,
      ];
    case 'audit.trouble':
      return ['warn', `runs and calls are not kept in the audit: ${inline(event.message)}`];
    case 'kept.trouble':
      return ['warn', `something of a run could not be kept: ${inline(event.message)}`];
    case 'auth.trouble':
      return ['warn', `credentials: ${inline(event.message)}`];
    case 'auth.refused':
      return [
        'info',
        `refused ${inline(event.method)} from ${inline(event.from)} with ${event.status}: ${inline(event.message)}`,
      ];
    case 'inbox.trouble':
      return ['warn', `approvals: ${inline(event.message)}`];
    case 'inbox.refused':
      return ['warn', `the answer file of question ${event.question} ${inline(event.message)}`];
    case 'bridge.fault':
      return ['error', `fault in ${event.where}: ${inline(event.message)}`];
    case 'bridge.closing':
      return ['info', `closing: ${inline(event.reason)}`];
    case 'bridge.alone':
      return ['info', `this window has a bridge of its own: ${inline(event.reason)}`];
    case 'bridge.joined':
      return ['info', `window ${event.window} of the shared bridge, process ${event.pid}`];
  }
}

function probeWords(probe: Extract<BridgeEvent, { type: 'walls.known' }>['probe']): string {
  if (probe === undefined) return `not probed since the last boot (${ownCommand('doctor', '--probe')} does)`;
  const { at, enforced, watchdog, overshootMb, unknown, notEnforced } = probe;
  const late = overshootMb === null ? '' : ` (${overshootMb} MB late)`;
  const gaps = notEnforced.length === 0 ? '' : ` (${inline(notEnforced.join(', '))})`;
  return `probed ${at}: ${enforced} enforced, ${watchdog} by watchdog${late}, ${notEnforced.length} not enforced${gaps}, ${unknown} unknown`;
}

function requestWords(event: Extract<BridgeEvent, { type: 'http.request' }>): string {
  const from = event.address === undefined ? 'a unix socket' : inline(event.address);
  const what = event.calls.length === 0 ? '' : ` (${inline(event.calls.join(', '))})`;
  const how = event.isWhole ? `${event.status}` : `client left, ${event.status ?? 'nothing answered'}`;
  return `request ${event.request} from ${from}: ${inline(event.method)} ${inline(event.path)}${what}: ${how} after ${ms(event.durationMs)}`;
}

const outcomeOf = (call: { readonly failed: boolean; readonly durationMs: number }): string =>
  `${call.failed ? 'failed' : 'answered'} after ${ms(call.durationMs)}`;

const ms = (durationMs: number): string => `${Math.round(durationMs)} ms`;

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** One line, whatever it was, so that nobody can write a log line of their own. */
const inline = (text: string): string => clip(harmless(text).replace(/\n/g, '\\n'), MAX_TEXT_CHARS);

/** The argv with the values of variables left out. */
function commandLine(argv: readonly string[]): string {
  const shown = argv.map((arg, index) => {
    if (/^--env=/.test(arg)) return arg.replace(/^(--env=[^=]*)=.*$/s, '$1=…');
    const afterOption = ['--env', '-e'].includes(argv[index - 1] ?? '');
    return afterOption ? arg.replace(/=.*$/s, '=…') : arg;
  });
  return inline(shown.join(' '));
}
