// An Outcome as the one flat object that every form of the answer is made from. Empty strings and collections are
// left out, so that what is there means something.

import { mapStrings, RawJson } from '../../base/json/json-text.js';
import { countOf, linesOf, shownExactly } from '../../base/text/text.js';
import type { PlannedCall } from '../../policy/approvals/plan.js';
import type { Outcome } from '../outcome/outcome.js';
import type { Picture } from '../outcome/pictures.js';
import { type FileEntry, fileEntries } from './files.js';
import { pictureSizes, sessionLine } from './pieces.js';

export type Payload = {
  readonly status: Outcome['status'];
  readonly summary: string;
  /** Which one it was a call of, and what of it is not as the reader may think. */
  readonly session?: string;
  /** Handle of a run that goes on, as `wait` and `stop` take it. */
  readonly run?: string;
  /** Activity of a run that goes on at the moment. */
  readonly now?: string;
  /** Calls that a plan would make; empty where the plan has come to no write. */
  readonly planned?: readonly {
    readonly server: string;
    readonly tool: string;
    readonly arguments: RawJson;
  }[];
  readonly exitCode?: number;
  /** Files that came back or can be read, and those that stayed behind; first, where no host cuts. */
  readonly files?: readonly FileEntry[];
  readonly stdout?: readonly string[];
  readonly stderr?: readonly string[];
  /** The last expression's value; a string of its repr where JSON cannot hold it. */
  readonly result?: RawJson | string;
  /** The pictures behind this text, in their order, by size only. */
  readonly pictures?: readonly Pick<Picture, 'kind' | 'width' | 'height' | 'bytes'>[];
  /** Why others are not there. */
  readonly picturesLeftOut?: readonly string[];
  readonly error?: string;
  /** The exception's class, or one of ours: E_MEMORY, E_FILES, E_TIMEOUT, E_SIGNAL, E_EXIT and so on. */
  readonly errorType?: string;
  readonly traceback?: readonly string[];
  readonly remedy?: string;
  /** A hint for a run that succeeded, but most likely did not do what was meant. */
  readonly note?: string;
  readonly servers?: readonly string[];
  readonly toolCalls?: number;
  /** Characters missing from the middle of stdout and stderr. */
  readonly droppedCharacters?: number;
  readonly droppedBytes?: number;
  readonly timeoutSeconds: number;
  readonly durationMs: number;
};

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;

function summaryOf(outcome: Outcome): string {
  const calls = outcome.calls === 0 ? '' : `, ${countOf(outcome.calls, 'tool call')}`;
  switch (outcome.status) {
    case 'success':
      return `Success in ${seconds(outcome.durationMs)}${calls}.`;
    case 'error':
      return `Failed after ${seconds(outcome.durationMs)}${calls}.`;
    case 'timeout':
      return `Timed out after ${outcome.timeoutSeconds} s${calls}.`;
    case 'validation_error':
      return 'Nothing was run.';
    case 'running':
      return `Still running after ${seconds(outcome.durationMs)}.`;
    case 'cancelled':
      return `Cancelled after ${seconds(outcome.durationMs)}${calls}.`;
  }
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === '' || value === 0 || (Array.isArray(value) && value.length === 0);

/** `paths`: whether files come with their places on this machine. */
export function payloadOf(outcome: Outcome, paths: boolean): Payload {
  const optional = {
    files: fileEntries(outcome, paths),
    stdout: linesOf(outcome.stdout.text),
    stderr: linesOf(outcome.stderr.text),
    result: outcome.result?.json ?? outcome.result?.repr,
    pictures: pictureSizes(outcome.pictures),
    picturesLeftOut: outcome.pictures.leftOut,
    error: outcome.error?.message,
    errorType: outcome.error?.type,
    traceback: outcome.error?.traceback,
    remedy: outcome.error?.remedy,
    note: outcome.note,
    servers: outcome.servers,
    toolCalls: outcome.calls,
    droppedCharacters: outcome.stdout.dropped + outcome.stderr.dropped,
    droppedBytes: (outcome.stdout.droppedBytes ?? 0) + (outcome.stderr.droppedBytes ?? 0),
  };
  return {
    status: outcome.status,
    ...(outcome.session === undefined ? {} : { session: sessionLine(outcome.session) }),
    summary: summaryOf(outcome),
    ...(outcome.goesOn === undefined ? {} : { run: outcome.goesOn.handle, now: outcome.goesOn.says }),
    ...(outcome.planned === undefined ? {} : { planned: outcome.planned.calls.map(plannedCall) }),
    ...(outcome.exitCode === undefined ? {} : { exitCode: outcome.exitCode }),
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => !isEmpty(value)),
    ) as Partial<Payload>),
    timeoutSeconds: outcome.timeoutSeconds,
    durationMs: Math.round(outcome.durationMs),
  };
}

const plannedCall = ({ server, tool, text }: PlannedCall) => ({
  server,
  tool,
  arguments: new RawJson(text),
});

/**
 * Writes characters that do not show as visible escapes, for whoever reads `payload`: in every text, and in the names and texts
 * of the result. Code that needs a value exactly has it from a file.
 */
export function showStrings<T>(value: T): T;
export function showStrings(value: unknown): unknown {
  if (typeof value === 'string') return shownExactly(value);
  if (value instanceof RawJson) return new RawJson(mapStrings(value.text, shownExactly));
  if (Array.isArray(value)) return value.map(showStrings);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, showStrings(member)]));
}
