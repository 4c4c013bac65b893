// The wire between the bridge and the harness, defined once. scripts/generate-frames.mjs writes the Python twin
// (sandbox-runtime/harness/frames.py) from this file, and test/vectors/frames.jsonl is read by both languages. Every frame from
// the harness is a claim by hostile code: it is parsed here and believed nowhere.

import { z } from 'zod';
import { MAX_NAME_CHARS, MAX_NAMED_TOOLS, MAX_QUERY_CHARS } from './limits.js';

export * from './limits.js';

/** Why a file stays behind: no regular file, too large for one or for all, too many, too deep, or not to be read. */
const SKIP_REASONS = ['link', 'special', 'size', 'total', 'count', 'depth', 'unreadable'] as const;

/** Files that are named although they stay behind; further ones are counted. */
export const MAX_SKIPPED_NAMED = 20;

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const callId = z.int().nonnegative();

/**
 * Methods by which the guest asks the host, with their parameters. Each has one handler in run/calls/host-api.ts; a method
 * without one does not compile.
 */
export const callParams = {
  'tools.call': z.strictObject({
    server: z.string(),
    tool: z.string(),
    // Checked to be an object and let go of: what is relayed is its text in the frame.
    arguments: z.custom<object>(isObject).transform(() => undefined),
  }),
  'servers.list': z.strictObject({}),
  'tools.list': z.strictObject({ server: z.string() }),
  'docs.get': z.strictObject({ server: z.string(), tool: z.string().nullable() }),
  // A longer text is no query, and searching for each of its words would hold up every other run.
  'docs.search': z.strictObject({ query: z.string().max(MAX_QUERY_CHARS), limit: z.int().min(1).max(100) }),
  'servers.load': z.strictObject({ server: z.string() }),
  'resources.list': z.strictObject({ server: z.string() }),
  'resources.read': z.strictObject({ server: z.string(), uri: z.string() }),
  'prompts.list': z.strictObject({ server: z.string() }),
  'prompts.get': z.strictObject({
    server: z.string(),
    prompt: z.string(),
    arguments: z.record(z.string(), z.string()),
  }),
  'saved.put': z.strictObject({
    name: z.string(),
    source: z.string(),
    signature: z.string(),
    description: z.string(),
    replace: z.boolean(),
  }),
  'saved.list': z.strictObject({}),
  'saved.get': z.strictObject({ name: z.string() }),
} as const;

export type CallMethod = keyof typeof callParams;
export type CallParams = { readonly [M in CallMethod]: z.infer<(typeof callParams)[M]> };

const guestError = z.strictObject({
  type: z.string(),
  message: z.string(),
  traceback: z.array(z.string()),
});

/** A tool that the code names in so many words: names or aliases, and the line. Without a tool, a server only. */
const namedTool = z.strictObject({
  server: z.string().max(MAX_NAME_CHARS),
  tool: z.string().max(MAX_NAME_CHARS).nullable(),
  line: z.int().nonnegative(),
});
export type NamedTool = z.infer<typeof namedTool>;

/** From the guest's process, on the container's stdout. */
export const guestFrame = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('call'),
    id: callId,
    method: z.string(),
    // Looked into by the schema of its method alone, so that no member is copied before.
    params: z.custom<Readonly<Record<string, unknown>>>(isObject),
  }),
  z.strictObject({ type: z.literal('abandon'), id: callId }),
  z.strictObject({ type: z.literal('picture'), data: z.string() }),
  z.strictObject({
    type: z.literal('result'),
    value: z.unknown(),
    repr: z.string(),
    exact: z.boolean(),
    token: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal('raised'),
    error: guestError,
    exitCode: z.int(),
    token: z.string().optional(),
  }),
  z.strictObject({ type: z.literal('where'), lines: z.array(z.string()) }),
  z.strictObject({
    type: z.literal('progress'),
    done: z.number(),
    total: z.number().nullable(),
    message: z.string().nullable(),
  }),
]);

/** From the supervisor, on the container's stderr. */
export const supervisorFrame = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('hello'), protocol: z.int(), harness: z.string(), python: z.string() }),
  z.strictObject({ type: z.literal('unloaded'), module: z.string(), error: z.string() }),
  z.strictObject({ type: z.literal('checked'), named: z.array(namedTool).max(MAX_NAMED_TOOLS) }),
  z.strictObject({ type: z.literal('refused'), error: guestError }),
  z.strictObject({
    type: z.literal('output'),
    stream: z.enum(['stdout', 'stderr']),
    text: z.string(),
    base64: z.string().nullable(),
  }),
  z.strictObject({
    type: z.literal('ended'),
    code: z.int().nullable(),
    signal: z.string().nullable(),
  }),
  z.strictObject({
    type: z.literal('answered'),
    code: z.int(),
    goesOn: z.boolean(),
    memoryKills: z.int().nonnegative().nullable(),
  }),
  z.strictObject({ type: z.literal('restless') }),
  z.strictObject({ type: z.literal('file'), name: z.string(), data: z.string() }),
  z.strictObject({
    type: z.literal('skipped'),
    files: z.array(z.strictObject({ name: z.string(), reason: z.enum(SKIP_REASONS) })),
    more: z.int().nonnegative(),
  }),
  z.strictObject({
    type: z.literal('exited'),
    code: z.int().nullable(),
    signal: z.string().nullable(),
    memoryKills: z.int().nonnegative().nullable(),
  }),
]);

export type GuestFrame = z.infer<typeof guestFrame>;
export type SupervisorFrame = z.infer<typeof supervisorFrame>;

/** One tool as the guest sees it; `alias` is the Python identifier, unique within its server. */
export type ToolDoc = {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  /** A schema of what the tool answered so far, where it has none of its own; null where nothing was seen. */
  readonly observed: unknown;
  /** Changes that the server has made to the tool since it was first seen, in words; null where there are none. */
  readonly changed: string | null;
};

/** A loaded server, whole. `version` and `instructions` are the server's own words, null when it gave none. */
export type ServerDoc = {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly version: string | null;
  readonly instructions: string | null;
  readonly tools: readonly ToolDoc[];
};

/** A server that the user configured; `loaded` says whether this run may call it. */
export type ServerBrief = {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly loaded: boolean;
  /** How many tools it is known to have; null where it has never been started. */
  readonly tools: number | null;
  /** Whether code may ask for it with `runtime.load_server`; absent means no. */
  readonly onDemand?: boolean;
  /** Why it was not opened for this run, which did not insist on it; absent where nothing went wrong. */
  readonly problem?: string;
};

/** A tool that fits a search, with all that is needed to show it: its server may not be loaded. */
export type ToolHit = {
  readonly server: string;
  /** The server's alias: the name that it has in Python. */
  readonly alias: string;
  readonly loaded: boolean;
  /** Compares within one search only. */
  readonly score: number;
  readonly tool: ToolDoc;
};

/** A refused call, as the guest raises it. `server` and `tool` are null where the call named none. */
export type Refusal = {
  readonly code: string;
  readonly message: string;
  readonly server: string | null;
  readonly tool: string | null;
};

/** A file for the code's working directory; `name` is a checked relative path, `data` base64. */
export type InputFile = { readonly name: string; readonly data: string };

/** Such a file on its way; `data` may be what JSON writes as base64. */
type SentFile = { readonly name: string; readonly data: string | { toJSON(): string } };

/** A program among the files of a run: what a shell would be told of it. */
export type ProgramStart = {
  /** Path of the entry file, relative to the working directory. */
  readonly file: string;
  readonly args: readonly string[];
  /** base64; null where there is none, and where it went ahead of the run. */
  readonly stdin: string | null;
  /** Absolute folder in which the steps of a program with `ways` run; absent means the working directory. */
  readonly cwd?: string;
  /** Variables besides those of its sandbox. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Ways to run it, in order of preference: for containers in which `needs` are found; each step but the last must end with
   * status 0. Without any, it is the Python that was checked, under the name of `file`.
   */
  readonly ways: ReadonlyArray<{
    readonly needs: readonly string[];
    readonly steps: ReadonlyArray<readonly string[]>;
  }>;
};

/** Facts about a session that its code is told. */
export type SessionFacts = {
  /** As the agent has named it. */
  readonly name: string;
  /** Name that no other session has: `s-` and letters and digits. */
  readonly handle: string;
  /** Number of this call, from 1. */
  readonly call: number;
  readonly ageSeconds: number;
  /** How long it lives without a call, and at most. */
  readonly idleSeconds: number;
  readonly lifeSeconds: number;
  /** Whether threads and tasks may go on after a call. */
  readonly keepRunning: boolean;
};

/** Has what was checked last run, or a program that needs no check. */
export type RunFrame = {
  readonly type: 'run';
  readonly timeoutSeconds: number;
  readonly loaded: readonly ServerDoc[];
  readonly discovered: readonly ServerBrief[];
  readonly files: readonly SentFile[];
  /** Null for code that is no file. */
  readonly program: ProgramStart | null;
  /** Session that this is a call in; absent for a run of its own. Neither ever becomes the other. */
  readonly session?: SessionFacts;
  /**
   * Token of this call of a session: the call's last frame repeats it, which no frame can that was made before the call.
   */
  readonly token?: string;
};

/** From the host, on the container's stdin. Trusted: the far side only types it. */
export type HostFrame =
  | {
      readonly type: 'check';
      readonly code: string;
      /** Under which name; null for code that is no file. */
      readonly file: string | null;
      /** Begins at once where the code compiles and names no tool, as if it were sent behind the answer; else it is dropped. */
      readonly run: RunFrame | null;
    }
  | {
      readonly type: 'input';
      /** base64; the pieces of one input, in order. */
      readonly data: string;
      /** Absolute: where the first has the harness keep all of them; null is where temporary files lie. */
      readonly folder: string | null;
    }
  | RunFrame
  | { readonly type: 'interrupt' }
  | { readonly type: 'hold' }
  | { readonly type: 'alive' }
  | { readonly type: 'reply'; readonly id: number; readonly value: unknown }
  | { readonly type: 'refusal'; readonly id: number; readonly error: Refusal }
  | { readonly type: 'stop'; readonly reason: string };
