// The outcome of a run, as data. Rendering decides how an outcome is shown; nothing here knows MCP.

import { RawJson } from '../../base/json/json-text.js';
import type { Redact } from '../../base/secrets/redact.js';
import { gapLine } from '../../base/text/text.js';
import type { Planned } from '../../policy/approvals/plan.js';
import type { Left } from '../artifacts/artifacts.js';
import type { KeptThing } from '../artifacts/kept-run.js';
import type { RunStatus } from '../events.js';
import { NO_PICTURES, type Pictures } from './pictures.js';

/** One captured stream: harmless text, head and tail kept, and how many characters are missing from its middle. */
export type Captured = {
  readonly text: string;
  readonly dropped: number;
  /** Where in `text` the line stands that says so, without its newlines; absent where nothing is missing. */
  readonly gap?: { readonly start: number; readonly end: number } | undefined;
  /** `dropped` in UTF-8; absent where it is nought. */
  readonly droppedBytes?: number;
  /** All of it, where it was kept. */
  readonly whole?: KeptThing | undefined;
};

/**
 * Start and end of a stream, with the line between them that says what is missing. Where all of the stream can be read, the
 * first lines of the answer say the address.
 */
export function capturedWithGap(
  head: string,
  tail: string,
  missing: { readonly dropped: number; readonly droppedBytes: number; readonly whole: KeptThing | undefined },
): Captured {
  const { dropped, droppedBytes, whole } = missing;
  const line = gapLine(dropped, droppedBytes, whole === undefined ? '' : `; whole: ${whole.name}`);
  const start = head.length + 1;
  return { text: `${head}\n${line}\n${tail}`, ...missing, gap: { start, end: start + line.length } };
}

/** The value of the last expression: as Python shows it, and as JSON where JSON can hold it exactly. */
export type ResultValue = {
  readonly repr: string;
  readonly json: RawJson | undefined;
  /** True where something was left out for a host that shows no more. */
  readonly isCut?: boolean;
};

export type OutcomeError = {
  /** One line: what happened. */
  readonly message: string;
  /** The exception's class, or an ErrorCode of ours. */
  readonly type: string;
  /** Lines, user's code only; empty where there is nothing to show. */
  readonly traceback: readonly string[];
  readonly remedy: string | undefined;
  /** True where message and traceback are the code's own words. */
  readonly isByCode?: boolean;
};

/** The session that a call was one of. */
export type SessionTold = {
  readonly name: string;
  readonly handle: string;
  /** Number of this call, from 1; 0 where no call has begun in the session yet. */
  readonly call: number;
  /** Facts that the reader must know of the session, the most important first, without full stops. */
  readonly says: readonly string[];
};

export type Outcome = {
  /** `running`: it has not ended, and this is what there is so far. */
  readonly status: RunStatus | 'running';
  /** Undefined where no process of the guest ended by itself. */
  readonly exitCode: number | undefined;
  /** Signal that ended the run, where none of our processes has sent it. */
  readonly signal?: string | undefined;
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly servers: readonly string[];
  readonly error: OutcomeError | undefined;
  readonly result: ResultValue | undefined;
  /** Absent where there is nothing to say about files. */
  readonly left?: Left | undefined;
  /** Note on what a run that succeeded most likely has not meant, and the next step. */
  readonly note: string | undefined;
  readonly pictures: Pictures;
  /** Plan of a run that only planned: what the run would do. */
  readonly planned?: Planned;
  /** How it goes on where it is `running`. */
  readonly goesOn?: {
    /** Handle of the call: `r-` and letters and digits. */
    readonly handle: string;
    /** The tool that was called, which takes the handle too. */
    readonly tool: string;
    /** A sentence on what the call does at the moment; empty where nobody knows. */
    readonly says: string;
  };
  /** Session of a call in a session. */
  readonly session?: SessionTold;
  readonly timeoutSeconds: number;
  readonly durationMs: number;
  readonly calls: number;
};

const NOTHING: Captured = { text: '', dropped: 0 };

/** Problem with a call, found before anything of the call runs. */
export type CallProblem = Omit<OutcomeError, 'traceback'>;

/** An outcome in which no guest code ran: bad arguments, an unknown server, an engine that does not start. */
export function outcomeWithoutRun(
  status: Exclude<RunStatus, 'success' | 'timeout'>,
  error: CallProblem & { readonly traceback?: readonly string[] },
  timeoutSeconds: number,
): Outcome {
  return {
    status,
    exitCode: undefined,
    stdout: NOTHING,
    stderr: NOTHING,
    servers: [],
    error: { traceback: [], ...error },
    result: undefined,
    note: undefined,
    pictures: NO_PICTURES,
    timeoutSeconds,
    durationMs: 0,
    calls: 0,
  };
}

/** An outcome whose error, where it is one of ours, went through `redact`. What the code itself says is its own. */
export function withoutSecrets(outcome: Outcome, redact: Redact): Outcome {
  const { error } = outcome;
  if (error === undefined || !error.type.startsWith('E_')) return outcome;
  const remedy = error.remedy === undefined ? undefined : redact(error.remedy);
  return { ...outcome, error: { ...error, message: redact(error.message), remedy } };
}

// An Outcome as JSON and back, whole: for the bridge's own command line, which shows a call that another process of ours has
// made as if it had made it itself. Both ends are of the same build.

/** The member of a result's `_meta` that has it. */
export const OUTCOME_KEY = 'mcp-sandbox-bridge/outcome';
/** The notification that has a piece of what the call prints: `stream`, `text`, and `base64` where it is no text. */
export const OUTPUT_METHOD = 'notifications/mcp-sandbox-bridge/output';

export function outcomeToWire(outcome: Outcome): { readonly [name: string]: unknown } {
  const { left, result } = outcome;
  const files = left?.files.map(({ content, ...file }) => ({ ...file, content: content.toString('base64') }));
  return {
    ...outcome,
    ...(left === undefined ? {} : { left: { ...left, files } }),
    ...(result === undefined ? {} : { result: { ...result, json: result.json?.text } }),
  };
}

/** Restores an outcome from what `outcomeToWire` gave, parsed from JSON. */
export function outcomeFromWire(value: object): Outcome {
  const { left, result, ...outcome } = value as Omit<Outcome, 'left' | 'result'> & {
    readonly left?: Omit<NonNullable<Outcome['left']>, 'files'> & {
      readonly files: readonly (Omit<NonNullable<Outcome['left']>['files'][number], 'content'> & {
        readonly content: string;
      })[];
    };
    readonly result?: { readonly repr: string; readonly json?: string };
  };
  const files = left?.files.map((file) => ({ ...file, content: Buffer.from(file.content, 'base64') })) ?? [];
  return {
    ...outcome,
    left: left && { ...left, files },
    result: result && { ...result, json: result.json === undefined ? undefined : new RawJson(result.json) },
  };
}
