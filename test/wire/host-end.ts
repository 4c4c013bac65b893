// Everything of the host that a frame of the guest reaches, without a container: channel, dispatcher, guard, host
// API, transcript. Bytes go in as from the guest's stream, and what came of them comes out as data.

import { EventEmitter } from 'node:events';
import { type Readable, Writable } from 'node:stream';
import type { BridgeError } from '../../src/base/errors.js';
import { RawJson, stringify } from '../../src/base/json/json-text.js';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { Scheduler, UNLIMITED } from '../../src/base/waiting/scheduler.js';
import { Progress } from '../../src/mcp/requests/progress.js';
import type { Plan } from '../../src/policy/approvals/plan.js';
import type { RunApprovals } from '../../src/policy/approvals/run-approvals.js';
import { allowedPart, type Policy, type PolicyRules, policyOf } from '../../src/policy/rules/policy.js';
import { turnOfCode } from '../../src/run/calls/call-limits.js';
import { Dispatcher } from '../../src/run/calls/dispatcher.js';
import { guardCalls } from '../../src/run/calls/guarded-calls.js';
import { LoadedServers } from '../../src/run/calls/on-demand.js';
import { SavedByRun, SavedTools } from '../../src/run/calls/saved-tools.js';
import { Transcript } from '../../src/run/outcome/transcript.js';
import type { ServerLease } from '../../src/servers/pool/server-lease.js';
import type { ToolHints } from '../../src/servers/server/tool-list.js';
import { Channel } from '../../src/wire/channel.js';
import type { ServerDoc, ToolDoc } from '../../src/wire/frames.js';

const OPEN: ServerDoc = {
  name: 'open',
  alias: 'open',
  description: '',
  version: null,
  instructions: null,
  tools: [
    {
      name: 'echo',
      alias: 'echo',
      description: 'Echo',
      inputSchema: {},
      outputSchema: null,
      observed: null,
      changed: null,
    },
  ],
};
const SHUT = { name: 'shut', alias: 'shut', description: '', loaded: false, tools: null };
const NO_SAVED_TOOLS = new SavedByRun(new SavedTools('/nonexistent', false), 'run-1');

const NO_RULES: PolicyRules = { allow: undefined, deny: [], file: undefined };

export type Heard = {
  /** The lines that were sent to the guest. */
  readonly sent: readonly string[];
  /** Every call that reached a server: its name, tool and arguments. */
  readonly reached: readonly string[];
  /** The types of the frames that were handed on, in order. */
  readonly frames: readonly string[];
  readonly violations: readonly BridgeError[];
  /** Refusals of the guard. */
  readonly events: readonly BridgeEvent[];
  /** What the audit was told of each call that has ended, in the order of their ends. */
  readonly audited: readonly Audited[];
  readonly result: string | undefined;
};

/** Without its duration, so that the same input gives the same. */
export type Audited = Omit<Extract<BridgeEvent, { type: 'run.call' }>, 'durationMs'>;

export type Scene = {
  readonly rules?: Partial<PolicyRules>;
  /** In place of that which the rules make. */
  readonly policy?: Policy;
  /** Further tools of the server `open`. */
  readonly tools?: readonly ToolDoc[];
  /** Where calls wait for a person; without it, nobody can be asked. */
  readonly approvals?: Pick<RunApprovals, 'pass'>;
  readonly plan?: Plan;
  /** What the server says of the effects of each of its tools. */
  readonly hints?: ToolHints;
  /** What a server does with a call; it may take its time. */
  readonly work?: (tool: string, signal: AbortSignal) => Promise<void>;
};

/** What the host makes of `chunks`, which arrive one after the other. */
export async function hear(
  chunks: readonly Buffer[],
  {
    rules,
    tools = [],
    work,
    approvals,
    plan,
    hints,
    policy = policyOf({ ...NO_RULES, ...rules }, []),
  }: Scene = {},
): Promise<Heard> {
  const whole: ServerDoc = { ...OPEN, tools: [...OPEN.tools, ...tools] };
  const sent: string[] = [];
  const reached: string[] = [];
  const frames: string[] = [];
  const violations: BridgeError[] = [];
  const events: BridgeEvent[] = [];
  const audited: Audited[] = [];
  const downstream = (server: string): object => ({
    during: () => downstream(server),
    spec: { name: server },
    tools: () => whole.tools.map((tool) => ({ ...tool, hints })),
    has: () => true,
    ask: async ({ method }: { readonly method: string }, signal: AbortSignal) => {
      reached.push(`${server} ${method}`);
      await work?.(method, signal);
      return {};
    },
    callTool: async (tool: string, args: RawJson, _onProgress: unknown, signal: AbortSignal) => {
      reached.push(`${server} ${tool} ${args.text}`);
      await work?.(tool, signal);
      return new RawJson(`{"content":[],"structuredContent":${args.text}}`);
    },
  });
  const lease = {
    get: async (server: string) => downstream(server),
    specOf: (server: string) => ({ name: server }),
  } as unknown as ServerLease;
  const changedOf = () => (name: string) =>
    whole.tools.find((tool) => tool.name === name)?.changed ?? undefined;
  const stdin = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      sent.push(chunk.toString());
      done();
    },
  });
  const stdout = new EventEmitter() as Readable;
  const transcript = new Transcript();
  let told = 0;
  using progress = new Progress((params) => {
    const { progress: done, total = done } = params;
    if (!(done > told && total >= done && total < Infinity)) throw new Error(`progress ${stringify(params)}`);
    told = done;
  });
  let dispatcher: Dispatcher | undefined;
  const channel = new Channel(
    { stdin, stdout, stderr: new EventEmitter() as Readable },
    {
      onGuest: (frame, text) => {
        frames.push(frame.type);
        if (violations.length > 0) throw new Error('a frame was handed on after a violation');
        if (frame.type === 'call') dispatcher?.accept(frame, text);
        else if (frame.type === 'abandon') dispatcher?.abandon(frame.id);
        else if (frame.type === 'progress') {
          progress.describe(() => 'Running.');
          progress.report(frame);
          progress.beat();
        } else transcript.add(frame, text);
      },
      onSupervisor: () => {},
      onNoise: () => {},
      onViolation: (error) => void violations.push(error),
    },
  );
  const guard = guardCalls(
    {
      runId: 'run-1',
      loaded: new LoadedServers([whole], () => policy),
      discovered: [{ ...SHUT, name: 'open', alias: 'open', loaded: true }, SHUT],
      loadServer: () => Promise.reject(new Error('no server comes later here')),
      saved: NO_SAVED_TOOLS,
      approvals,
      plan,
      stopClock: () => () => {},
      tell: () => {},
      observer: (event) => {
        // How long a request took is another number each time.
        if (event.type === 'run.request') return;
        // The end of a call says all that its beginning does.
        if (event.type === 'run.calling') return;
        if (event.type !== 'run.call') return void events.push(event);
        const { durationMs: _durationMs, ...told } = event;
        audited.push(told);
      },
    },
    {
      lease,
      known: { docOf: () => undefined, allDocs: () => [allowedPart(whole, policy)], changedOf },
      policy: () => policy,
    },
    {
      turn: turnOfCode(new Scheduler({ atOnce: Number.POSITIVE_INFINITY }), {
        bridge: 'b',
        run: 'run-1',
        owner: 'local',
        limits: () => UNLIMITED,
      }),
      shapes: { learn: () => {} },
      audit: 'arguments',
      principal: 'local',
    },
  );
  dispatcher = new Dispatcher(guard, (frame) => channel.send(frame), policy.runLimits.callsInFlight.max);
  // As a pipe does it, but in the same tick.
  for (const chunk of chunks) stdout.emit('data', chunk);
  while (dispatcher.inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
  dispatcher[Symbol.dispose]();
  return { sent, reached, frames, violations, events, audited, result: transcript.result?.json?.text };
}
