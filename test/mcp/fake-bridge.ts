// A bridge that starts nothing and says what has reached it, and ways to speak with its server object: real clients of the
// SDK's two lines, and messages by hand where no client would send them.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, InMemoryTransport, type Transport } from '@modelcontextprotocol/client';
import { expect, onTestFinished } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import { Jobs } from '../../src/mcp/calls/jobs.js';
import { serveAgent } from '../../src/mcp/connection/server.js';
import type { CallContext } from '../../src/run/calls/call-context.js';
import type { RunInput } from '../../src/run/life/run-request.js';
import { type Outcome, outcomeWithoutRun } from '../../src/run/outcome/outcome.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import type { Bridge } from '../../src/tenant/bridge.js';
import { PATIENTLY } from '../support/time.js';

const HOST = { home: '/h', platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false } as const;
export const FAILED = outcomeWithoutRun('error', { type: 'E', message: 'no', remedy: undefined }, 30);
export const VERSION = 'io.modelcontextprotocol/protocolVersion';
export const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
export const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
export const ENVELOPE = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} };

/** All of its output can be read. */
const WHOLE = {
  uri: 'resource://x/1/stdout.txt',
  name: 'stdout.txt',
  mimeType: 'text/plain',
  sizeBytes: 9,
  path: '/x',
};
export const LEFT: Outcome = { ...FAILED, stdout: { text: 'x', dropped: 8, whole: WHOLE } };

export type Message = Readonly<Record<string, unknown>>;

/** A bridge whose runs print a line, tell of progress and end with `outcome`. */
export function fakeBridge(env: Readonly<Record<string, string>> = {}, outcome: Outcome = FAILED) {
  const stateDir = mkdtempSync(join(tmpdir(), 'fake-bridge-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const { settings } = parseSettings(
    { MCP_BRIDGE_TOOLS: 'run_python,execute', MCP_BRIDGE_STATE_DIR: stateDir, ...env },
    HOST,
  );
  const callers: CallContext['caller'][] = [];
  const signals: AbortSignal[] = [];
  const seen = { warmUps: 0, listeners: new Set<() => void>() };
  let held: Promise<void> = Promise.resolve();
  const run = async (_input: RunInput, { caller, signal, tell }: CallContext) => {
    callers.push(caller);
    signals.push(signal);
    tell({ type: 'output', stream: 'stdout', text: 'hello\n', base64: null });
    tell({ type: 'progress', done: 1, total: 2, message: 'half' });
    await Promise.race([held, new Promise((resolve) => signal.addEventListener('abort', resolve))]);
    return outcome;
  };
  const bridge = {
    settings,
    servers: { names: ['alpha'], policy: () => ({ data: 'write' }) },
    snippets: { folder: undefined },
    kept: { list: () => [], isOn: true, keepSeconds: 60, read: () => Promise.resolve(undefined) },
    warmUp: () => void ++seen.warmUps,
    sweepOnce: () => {},
    onLearned: (listener: (of: string) => void) => {
      const hear = () => listener('image');
      seen.listeners.add(hear);
      return () => seen.listeners.delete(hear);
    },
    run,
    runCommand: async (...asked: Parameters<typeof run>) => ({ failed: await run(...asked) }),
    callServer: () => Promise.resolve(new RawJson('{"content":[]}')),
  } as unknown as Bridge;
  const hold = (until: Promise<void>) => {
    held = until;
  };
  return { bridge, callers, signals, seen, hold };
}

/** The jobs of one principal, until the test has ended. */
export function newJobs(): Jobs {
  const jobs = new Jobs(60);
  onTestFinished(() => jobs[Symbol.dispose]());
  return jobs;
}

export async function served(bridge: Bridge): Promise<Transport> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const connection = await serveAgent(bridge, newJobs(), ours as never, () => {});
  onTestFinished(() => connection.close());
  return theirs;
}

/** Sends messages by hand; `answers` are all that came back. */
export async function byHand(bridge: Bridge) {
  const transport = await served(bridge);
  const answers: Message[] = [];
  transport.onmessage = (message) => void answers.push(message as Message);
  await transport.start();
  const ask = async (message: Message): Promise<Message | undefined> => {
    await transport.send({ jsonrpc: '2.0', ...message } as never);
    const found = () => answers.find(({ id, method }) => id === message['id'] && method === undefined);
    await expect.poll(found, PATIENTLY).toBeDefined();
    return found();
  };
  return { ask, answers, transport };
}

export const client = (mode: 'legacy' | 'auto' | { pin: string }, capabilities = {}) =>
  new Client({ name: 'agent', version: '7' }, { versionNegotiation: { mode }, capabilities });
