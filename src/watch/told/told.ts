// Messages between a running bridge and the page of its user, as lines of JSON over the bridge's socket, and the shapes in which
// the page shows runs. Both ends are processes of one user; the schemas are for bridges of another version.

import { z } from 'zod';

/** Longest line that either end takes: a recorded run has a few megabytes at most. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;

const call = z.object({
  /** Counts within its run. */
  call: z.number(),
  server: z.string(),
  tool: z.string(),
  isAllowed: z.boolean(),
  /** Rule of the policy that the verdict comes from. */
  rule: z.string(),
  /** Code of what it failed with. */
  error: z.string().optional(),
  /** When it ended, or began where it is under way, in ISO 8601. */
  endedAt: z.string(),
  isUnderWay: z.boolean().optional(),
  durationMs: z.number(),
  argumentBytes: z.number(),
  resultBytes: z.number().optional(),
  /** The beginning of the arguments, where the audit keeps them. */
  argumentsText: z.string().optional(),
});

const run = z.object({
  run: z.string(),
  /** When it began or was refused, in ISO 8601. */
  at: z.string(),
  client: z.string(),
  principal: z.string().optional(),
  language: z.string(),
  servers: z.array(z.string()),
  /** `running`, or how it ended: a RunStatus or `refused`. */
  status: z.string(),
  error: z.object({ kind: z.string(), message: z.string() }).optional(),
  /** Absent while it runs. */
  durationMs: z.number().optional(),
  callCount: z.number(),
  failedCalls: z.number(),
  /** Bytes of its code. */
  codeBytes: z.number().optional(),
  /** Whether its bridge remembers code and output. */
  isRecorded: z.boolean(),
});

const recorded = z.object({
  code: z.string(),
  stdout: z.string(),
  stderr: z.string(),
  result: z.string().optional(),
  error: z.string().optional(),
  files: z.array(z.string()),
  /** Files whose text is here, since they are kept nowhere else. */
  texts: z.array(z.object({ name: z.string(), text: z.string() })).default([]),
  /** `data` is base64. */
  pictures: z.array(z.object({ kind: z.enum(['png', 'jpeg', 'gif', 'webp']), data: z.string() })).default([]),
});

const repeatable = z.object({
  /** `cell` is a run that can be run again; for others, what keeps it from that. */
  form: z.enum(['cell', 'program', 'session', 'files', 'plan', 'too long']),
  timeoutSeconds: z.number(),
  /** In the order of their answers. */
  requests: z.array(
    z.object({
      server: z.string(),
      method: z.string(),
      sent: z.string(),
      answer: z.string().optional(),
      error: z.object({ code: z.string(), message: z.string() }).optional(),
    }),
  ),
});

const server = z.object({
  name: z.string(),
  state: z.string(),
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      /** Names of its arguments with their types, as in `title: string, body?: string`. */
      arguments: z.string(),
      /** Changes that the server has made to it since it was first seen, in words. */
      changed: z.string().optional(),
    }),
  ),
  /** How it last ended, or why it did not start. */
  reason: z.string().optional(),
});

const facts = z.object({
  pid: z.number(),
  version: z.string(),
  /** `stdio` serves one agent, `shared` the windows of a user, `http` whoever has a credential. */
  kind: z.enum(['stdio', 'shared', 'http']),
  /** ISO 8601. */
  since: z.string(),
  folder: z.string(),
  memoryBytes: z.number(),
  servers: z.array(server),
  /** Servers of each principal that is served now, by its id; absent where a bridge serves one. */
  principals: z.array(z.object({ principal: z.string(), servers: z.array(server) })).optional(),
  /** Undefined where the bridge does not count them. */
  sandboxes: z.object({ waiting: z.number(), heldBytes: z.number() }).optional(),
});

/** Messages of a bridge. */
export const told = z.discriminatedUnion('is', [
  z.object({ is: z.literal('facts'), facts }),
  /** Facts that have changed where no others have: those others are long. */
  z.object({ is: z.literal('figures'), figures: facts.pick({ memoryBytes: true, sandboxes: true }) }),
  /** A run that began, ended or is remembered. */
  z.object({ is: z.literal('run'), run }),
  z.object({ is: z.literal('call'), run: z.string(), call }),
  z.object({ is: z.literal('recorded'), run: z.string(), recorded: recorded.nullable() }),
  z.object({ is: z.literal('repeatable'), run: z.string(), repeatable: repeatable.nullable() }),
]);
/** Messages of the page, and of whoever runs a run again. */
export const asked = z.object({ ask: z.enum(['recorded', 'repeatable']), run: z.string() });

export type Told = Readonly<z.output<typeof told>>;
export type PageRequest = Readonly<z.output<typeof asked>>;
export type SeenCall = Readonly<z.output<typeof call>>;
export type SeenRun = Readonly<z.output<typeof run>>;
export type Recorded = Readonly<z.output<typeof recorded>>;
export type Repeatable = Readonly<z.output<typeof repeatable>>;
export type BridgeFacts = Readonly<z.output<typeof facts>>;

export const RUNNING = 'running';
