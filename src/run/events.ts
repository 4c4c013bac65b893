// Events of runs and of their calls. The audit folds them into lines, see audit/audit.ts.

import { type EventWords, milliseconds, oneLine } from '../base/log/events.js';
import { shownName, shownTool } from '../base/text/shown-name.js';
import { countOf } from '../base/text/text.js';
import type { TraceSpan } from '../base/trace.js';
import type { TextDigest } from './audit/digest.js';

export type RunStatus = 'success' | 'error' | 'timeout' | 'validation_error' | 'cancelled';

/** A call of a run, as it is told when it begins and when it has ended. */
export type RunCall = {
  readonly run: string;
  /** Counts within the run. */
  readonly call: number;
  readonly server: string;
  readonly tool: string;
  /** Verdict of the policy, whose rule is named. */
  readonly allowed: boolean;
  readonly rule: string;
};

declare module '../base/log/events.js' {
  interface EventTable {
    readonly 'run.queued': { readonly run: string; readonly ahead: number };
    readonly 'run.started': {
      /** Unique among all bridges. */
      readonly run: string;
      /** Name and version of the client that asked, as it reported them. */
      readonly client: string;
      readonly servers: readonly string[];
      readonly language: string;
      readonly code: TextDigest;
      /**
       * The beginning of a command's argument vector; undefined for other runs, and when the operator does not want it
       * kept.
       */
      readonly argumentsText?: string | undefined;
      readonly timeoutSeconds: number;
    };
    /** A call is on its way; `run.call` tells how it ended. */
    readonly 'run.calling': RunCall & { readonly argumentBytes: number };
    /** A tool call that has ended, refused ones included. */
    readonly 'run.call': RunCall & {
      /** Code of what it failed with. */
      readonly error: string | undefined;
      readonly durationMs: number;
      readonly failed: boolean;
      readonly arguments: TextDigest;
      readonly result: TextDigest | undefined;
      /** The beginning of it, where the operator wants it kept. */
      readonly argumentsText: string | undefined;
    };
    /** A request of a run to a server that has ended. */
    readonly 'run.request': {
      readonly run: string;
      readonly server: string;
      /** Method of MCP, such as tools/call. */
      readonly method: string;
      /** Name of the tool or prompt, or URI of the resource; undefined for a list. */
      readonly target: string | undefined;
      /** How the server is reached: as a process of ours, or over HTTP. */
      readonly transport: 'pipe' | 'tcp';
      readonly durationMs: number;
      /** Code of what it failed with. */
      readonly error: string | undefined;
      /** Code of the server's own refusal, as in JSON-RPC. */
      readonly refusal: number | undefined;
      /** Its step in the trace, where that is recorded. */
      readonly span: TraceSpan | undefined;
    };
    /** A call that by policy reached no server, or whose answer was not handed on. */
    readonly 'run.refused': {
      readonly run: string;
      readonly server: string;
      readonly tool: string;
      readonly code: string;
      /** Names the rule or the limit. */
      readonly message: string;
    };
    /** A run that was refused before it began: by a quota, or since it asked for what there is not. */
    readonly 'run.rejected': {
      readonly run: string;
      readonly client: string;
      /** Servers that it named. */
      readonly servers: readonly string[];
      readonly language: string;
      readonly code: TextDigest;
      readonly timeoutSeconds: number;
      readonly error: { readonly kind: string; readonly message: string };
    };
    readonly 'run.ended': {
      readonly run: string;
      /** Servers that the run had in the end, or those that it named where it did not come so far. */
      readonly servers: readonly string[];
      /** Data folders that its code could see, by their paths in the sandbox; one that it could write has `:rw`. */
      readonly data?: readonly string[] | undefined;
      readonly status: RunStatus;
      /** Why it failed; the message is the code's own words where the code has raised it. */
      readonly error?: { readonly kind: string; readonly message: string } | undefined;
      readonly durationMs: number;
      readonly calls: number;
    };
    /** The code of a run that is about to start; only where MCP_BRIDGE_RECORD keeps code. As it is, secrets included. */
    readonly 'run.code': {
      readonly run: string;
      readonly code: string;
      /** `cell` is one that can be run again; for others, what keeps it from that. */
      readonly form: 'cell' | 'program' | 'session' | 'files' | 'plan';
      readonly timeoutSeconds: number;
    };
    /** An answer of a server to a run, on the same terms as the code of the run. */
    readonly 'run.answered': {
      readonly run: string;
      readonly server: string;
      /** By MCP's name, such as `tools/call`. */
      readonly method: string;
      /** Parameters and result as JSON, as they are; `error` where there was no result. */
      readonly sent: string;
      readonly answer?: string | undefined;
      readonly error?: { readonly code: string; readonly message: string } | undefined;
    };
    /** Output of a run that has ended, told after `run.ended` and on the same terms as its code. */
    readonly 'run.output': {
      readonly run: string;
      readonly stdout: string;
      readonly stderr: string;
      /** The value of the last expression, as Python shows it. */
      readonly result: string | undefined;
      /** Message, traceback and remedy. */
      readonly error: string | undefined;
      /** Names of the files that it left. */
      readonly files: readonly string[];
      /** Texts of the files that the answer has whole, and that are kept nowhere else. */
      readonly texts: readonly { readonly name: string; readonly text: string }[];
      /** Pictures that it has shown; `data` is base64. */
      readonly pictures: readonly {
        readonly kind: 'png' | 'jpeg' | 'gif' | 'webp';
        readonly data: string;
      }[];
    };
    readonly 'audit.trouble': { readonly message: string };
    readonly 'kept.trouble': { readonly message: string };
    /** A fault of ours, in whichever room it is noticed. */
    readonly 'bridge.fault': { readonly where: string; readonly message: string };
  }
}

/** Refusals of one run that are logged at their usual level; further ones are logged as debug. */
const MAX_REFUSALS_TOLD = 20;

export function runEventWords() {
  /** Counts the refusals of each run that is under way. */
  const refusals = new Map<string, number>();
  /** Code that ignores refusals can make a thousand in a second. */
  const levelOfRefusal = (run: string): 'info' | 'debug' => {
    const count = (refusals.get(run) ?? 0) + 1;
    refusals.set(run, count);
    return count > MAX_REFUSALS_TOLD ? 'debug' : 'info';
  };
  return {
    'run.queued': ({ run, ahead }) => [
      'info',
      `run ${run} waits in the queue, behind ${countOf(ahead, 'run')}`,
      { run },
    ],
    'run.started': ({ run, language, servers }) => [
      'info',
      `run ${run} (${language}) started with ${servers.map((name) => shownName(name)).join(', ') || 'no servers'}`,
      { run, language, servers },
    ],
    'run.call': ({ run, server, tool, failed, error, durationMs }) => [
      'debug',
      `run ${run} called ${shownTool(server, tool)}: ${failed ? 'failed' : 'answered'} after ${milliseconds(durationMs)}`,
      {
        run,
        server,
        tool,
        status: failed ? 'failed' : 'answered',
        error,
        durationMs: Math.round(durationMs),
      },
    ],
    'run.request': ({ run, server, method, durationMs }) => [
      'trace',
      `run ${run} asked ${shownName(server)} for ${method}: ${milliseconds(durationMs)}`,
    ],
    'run.refused': ({ run, server, tool, code, message }) => [
      levelOfRefusal(run),
      `run ${run} may not call ${shownTool(server, tool)}: ${oneLine(message)}`,
      { run, server, tool, status: 'refused', error: code },
    ],
    'run.rejected': ({ run, error: { kind, message } }) => [
      'info',
      `run ${run} was refused: ${oneLine(message)}`,
      { run, status: 'refused', error: kind },
    ],
    'run.ended': ({ run, status, error, durationMs, calls }) => {
      refusals.delete(run);
      return [
        'info',
        `run ${run}: ${status} after ${milliseconds(durationMs)}, ${countOf(calls, 'call')}`,
        { run, status, error: error?.kind, durationMs: Math.round(durationMs), calls },
      ];
    },
    'run.code': ({ run, code }) => ['trace', `run ${run} has ${countOf(code.length, 'character')} of code`],
    'run.calling': ({ run, server, tool }) => ['trace', `run ${run} calls ${shownTool(server, tool)}`],
    'run.answered': ({ run, server, method }) => [
      'trace',
      `run ${run} has an answer to ${oneLine(method)} of ${shownName(server)}`,
    ],
    'run.output': ({ run, stdout, stderr }) => [
      'trace',
      `run ${run} has written ${countOf(stdout.length + stderr.length, 'character')}`,
    ],
    'audit.trouble': ({ message }) => [
      'warn',
      `runs and calls are not written to the audit: ${oneLine(message)}`,
    ],
    'kept.trouble': ({ message }) => [
      'warn',
      `files or output of a run could not be kept: ${oneLine(message)}`,
    ],
    'bridge.fault': ({ where, message }) => ['error', `fault in ${where}: ${oneLine(message)}`],
  } satisfies Partial<EventWords>;
}
