// The wire between the bridge and the harness, defined once. scripts/generate-frames.mjs writes the Python twin
// (sandbox-runtime/harness/frames.py) from this file, and test/vectors/frames.jsonl is read by both languages.
// What comes from the harness is a claim by hostile code: it is parsed here and believed nowhere.

import { z } from 'zod';

/** Raised by one with every change that an older peer would misread. */
export const PROTOCOL_VERSION = 7;

/** One line, newline included. A 40 MB tool result fits with its escapes; memory per stream stays bounded. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** Deeper values are refused before any recursive code sees them: pydantic clients stop at 200, V8's stringify at ~5,000. */
export const MAX_DEPTH = 128;

/**
 * Values in one frame. Parsed, a value of three characters takes a hundred bytes and its share of collections: a frame
 * of 64 MiB full of them holds up every other run for 20 s and takes 2 GB; this many take a fraction of a second.
 */
export const MAX_VALUES = 1_000_000;

/**
 * What the guest's stream may carry in one run, and what its replies may: parsing it is our processor time, and the
 * one thing that all runs share. The largest useful run moves some tens of results of 40 MB.
 */
export const MAX_RUN_BYTES = 1024 * 1024 * 1024;

/** Frames of the calls that one run has under way or waiting; 10,128 calls of 64 MiB would be 650 GB of ours. */
export const MAX_PENDING_BYTES = 2 * MAX_FRAME_BYTES;

/** Replies that the guest has not read yet; above it a reply becomes a refusal. One reply may still be this long itself. */
export const MAX_UNREAD_BYTES = MAX_FRAME_BYTES;

/** Calls of one run that are under way at once; further ones wait in a queue of MAX_QUEUED_CALLS. 100 gathered calls must all be in flight. */
export const MAX_CALLS_IN_FLIGHT = 128;

/** Beyond this a flood is refused call by call, instead of growing the host's memory. */
export const MAX_QUEUED_CALLS = 10_000;

/** Output of either stream travels in pieces of at most this many bytes. */
export const OUTPUT_CHUNK_BYTES = 65_536;

/** Standard input of a command that is longer goes ahead of its run, in pieces of this many bytes. A multiple of three: base64 without padding. */
export const INPUT_PIECE_BYTES = 3 * 1024 * 1024;

/** Pictures of one run that are shown; a model reads few, and each costs it up to 1,600 tokens. */
export const MAX_PICTURES = 8;

/** Characters of base64 that they may come to together: some clients refuse whole results above 1 MiB (Claude Desktop). */
export const MAX_PICTURES_CHARS = 960 * 1024;

/** Pixels: in a conversation of many pictures Claude's API refuses any with a longer side, and the conversation is stuck. */
export const MAX_PICTURE_SIDE = 2000;

/** Longest query of a search in the documentation. */
export const MAX_QUERY_CHARS = 1_000;

/** Tools that a checked program names; more are left to the run, which asks for each of them anyway. */
export const MAX_NAMED_TOOLS = 200;

/** Longest name of a server or tool in a program; anything longer is not taken for a name. */
export const MAX_NAME_CHARS = 200;
/**
 * One file that comes out of a sandbox, and the whole output of one stream. A client gets it as one message, in base64:
 * the official SDKs end a server over 10 MiB, and one host is said to do so over 8 MiB; this makes 7.
 */
export const MAX_FILE_BYTES = 5 * 1024 * 1024;

/** Files that come out of one run: more is an archive's business, and each is a line that a model reads. */
export const MAX_FILES = 50;

/** All of them together; they are held in the bridge's memory until the run's end. */
export const MAX_FILES_BYTES = 32 * 1024 * 1024;

/** Longest path of a file, and longest name within it, in bytes. Linux itself takes 4,096 and 255. */
export const MAX_PATH_BYTES = 1_024;
export const MAX_SEGMENT_BYTES = 255;

/** Files that go into one run, and their bytes in sum: a model or a person sends them in one message, in base64. */
export const MAX_INPUT_FILES = 100;
export const MAX_INPUT_BYTES = 10 * 1024 * 1024;

/** Why a file stays behind: no regular file, too large for one or for all, too many, too deep, or not to be read. */
export const SKIP_REASONS = ['link', 'special', 'size', 'total', 'count', 'depth', 'unreadable'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** Files that are named although they stay behind; further ones are counted. */
export const MAX_SKIPPED_NAMED = 20;

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const callId = z.int().nonnegative();

/** What the guest may ask the host for. Each has one handler in run/calls/host-api.ts; a method without one does not compile. */
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
    params: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({ type: z.literal('abandon'), id: callId }),
  z.strictObject({ type: z.literal('picture'), data: z.string() }),
  z.strictObject({ type: z.literal('result'), value: z.unknown(), repr: z.string(), exact: z.boolean() }),
  z.strictObject({ type: z.literal('raised'), error: guestError, exitCode: z.int() }),
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
  /** What the server has changed of it since it was first seen, in words; null where nothing did. */
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

/** A way to run a program: for containers in which `needs` are found; each step but the last must end with status 0. */
export type ProgramWay = {
  readonly needs: readonly string[];
  readonly steps: ReadonlyArray<readonly string[]>;
};

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
  /** In order of preference. Without any, it is the Python that was checked, under the name of `file`. */
  readonly ways: readonly ProgramWay[];
};

/** From the host, on the container's stdin. Trusted: the far side only types it. */
export type HostFrame =
  | {
      readonly type: 'check';
      readonly code: string;
      /** Under which name; null for code that is no file. */
      readonly file: string | null;
    }
  | {
      readonly type: 'input';
      /** base64; the pieces of one input, in order. */
      readonly data: string;
      /** Absolute: where the first has the harness keep all of them; null is where temporary files lie. */
      readonly folder: string | null;
    }
  | {
      readonly type: 'run';
      readonly timeoutSeconds: number;
      readonly loaded: readonly ServerDoc[];
      readonly discovered: readonly ServerBrief[];
      readonly files: readonly InputFile[];
      /** Null for code that is no file. */
      readonly program: ProgramStart | null;
    }
  | { readonly type: 'reply'; readonly id: number; readonly value: unknown }
  | { readonly type: 'refusal'; readonly id: number; readonly error: Refusal }
  | { readonly type: 'stop'; readonly reason: string };
