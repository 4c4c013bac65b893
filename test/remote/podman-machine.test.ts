// The life of a podman machine, with containers that really run in it: an engine that runs elsewhere is started and ended as
// `podman machine` says, and everything else is podman's own client. Only the four words of `podman machine` are ours.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { byCommandLine } from '../../src/run/calls/call-context.js';
import type { Outcome } from '../../src/run/outcome/outcome.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { Bridge } from '../../src/tenant/bridge.js';
import { imageOf } from '../support/built-image.js';
import { openRemoteEngine, type RemoteEngine, whyNoRemoteEngine } from '../support/remote-engine.js';
import { NEVER, PATIENTLY, pause } from '../support/time.js';

const why = whyNoRemoteEngine('podman-unix');
const IDLE_SECONDS = 2;

/** `podman`, as a Mac has it: `machine` is asked of the test, all else goes to the machine's engine. */
const STAND_IN = (control: string, environment: Record<string, string>) => `#!${process.execPath}
const { spawn } = require('node:child_process');
const { request } = require('node:http');
const args = process.argv.slice(2);
if (args[0] !== 'machine') {
  const env = { ...process.env, ...${JSON.stringify(environment)} };
  const child = spawn('podman', args, { stdio: 'inherit', env });
  for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => child.kill(name));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 137 : 1)));
} else {
  request({ socketPath: ${JSON.stringify(control)}, path: '/' + args[1], method: 'POST' }, (answer) => {
    let text = '';
    answer.on('data', (piece) => { text += piece; });
    answer.on('end', () => {
      (answer.statusCode === 200 ? process.stdout : process.stderr).write(text);
      process.exit(answer.statusCode === 200 ? 0 : 125);
    });
  }).end();
}
`;

/** The one machine of this computer, and what was asked of it. */
class Machine {
  readonly asked: string[] = [];
  readonly #engine: RemoteEngine;
  #state: 'absent' | 'stopped' | 'running' = 'absent';
  trouble: string | undefined;

  constructor(engine: RemoteEngine) {
    this.#engine = engine;
  }

  /** What podman prints; throws its complaint. */
  async answer(word: string): Promise<string> {
    this.asked.push(word);
    if (word === 'list')
      return JSON.stringify(
        this.#state === 'absent'
          ? []
          : [{ Name: 'laptop', Default: true, Running: this.#state === 'running' }],
      );
    if (this.trouble !== undefined) throw new Error(this.trouble);
    if (word === 'init') this.#state = 'stopped';
    if (word === 'start') await this.start();
    if (word === 'stop') await this.stop();
    return '';
  }

  async start(): Promise<void> {
    await this.#engine.start();
    this.#state = 'running';
  }

  /** With everything that runs in it, as a machine that is switched off. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    await this.#engine.command(['kill', '--all']);
    await this.#engine.kill();
  }
}

describe.skipIf(why !== undefined)(why ?? 'a podman machine', () => {
  let dir: string;
  let engine: RemoteEngine;
  let machine: Machine;
  let control: Server;
  let bridge: Bridge;
  let events: BridgeEvent[];

  beforeAll(async () => {
    engine = await openRemoteEngine('podman-unix');
    await engine.load(imageOf('base'));
    await engine.kill();
    dir = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'machine-'));
  });
  afterAll(async () => {
    await engine.close();
    rmSync(dir, { recursive: true, force: true });
  });

  beforeEach(async () => {
    machine = new Machine(engine);
    control = createServer((asked, answer) => {
      machine.answer((asked.url ?? '').slice(1)).then(
        (text) => answer.end(text),
        (thrown: Error) => answer.writeHead(500).end(thrown.message),
      );
    });
    const socket = join(dir, 'control.sock');
    await new Promise<void>((resolve) => control.listen(socket, resolve));
    const { CONTAINER_HOST: _, MCP_BRIDGE_ENGINE_URL = '', ...rest } = engine.environment();
    writeFileSync(join(dir, 'podman'), STAND_IN(socket, { CONTAINER_HOST: MCP_BRIDGE_ENGINE_URL }));
    chmodSync(join(dir, 'podman'), 0o755);
    const env = {
      ...rest,
      MCP_BRIDGE_RUNTIME: join(dir, 'podman'),
      MCP_BRIDGE_STATE_DIR: join(dir, 'state'),
      MCP_BRIDGE_IMAGE: imageOf('base'),
      MCP_BRIDGE_ACCEPT_UNENFORCED: 'memory,cpu,pids',
      MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: String(IDLE_SECONDS),
      MCP_BRIDGE_WARM: '1',
    };
    const host = { ...hostFacts(), home: dir, platform: 'darwin' as const };
    const { settings } = parseSettings(env, host);
    events = [];
    bridge = new Bridge({
      settings,
      discovery: { settings, env: {}, host },
      observer: (event) => events.push(event),
    });
  });
  afterEach(async () => {
    await bridge[Symbol.asyncDispose]();
    control.close();
    await machine.stop();
  });

  const waits = async () => expect(await engine.containers()).toHaveLength(1);
  const run = (code: string): Promise<Outcome> =>
    bridge.run(
      { task: { type: 'cell', code }, servers: [], files: [], timeoutSeconds: 120 },
      byCommandLine(NEVER),
    );
  const value = async (code: string) => (await run(code)).result?.json?.text;

  it('it is made and started by the first run, stopped when idle, and started by the next one', async () => {
    expect(await value('6 * 7')).toBe('42');
    expect(machine.asked).toEqual(['list', 'init', 'list', 'start']);
    // A sandbox waits in it meanwhile, which is no use of it.
    await vi.waitFor(waits, PATIENTLY);
    await vi.waitFor(() => expect(machine.asked).toContain('stop'), PATIENTLY);
    expect(await value('7 * 8')).toBe('56');
    expect(machine.asked.slice(machine.asked.indexOf('stop'))).toEqual(['stop', 'list', 'start']);
  });

  it('its user stops it in the middle of a run: the run says so, and the next one starts it', async () => {
    expect(await value('1')).toBe('1');
    const running = run('import time; time.sleep(100)');
    await pause(1_000);
    await machine.stop();
    const outcome = await running;
    expect(outcome.status).toBe('error');
    expect(outcome.error?.type).toMatch(/^E_SANDBOX_LOST$/);
    expect(await value('2')).toBe('2');
    expect(machine.asked.at(-1)).toBe('start');
  });

  it('its user stops it while a sandbox waits: the next run starts it', async () => {
    expect(await value('1')).toBe('1');
    await vi.waitFor(waits, PATIENTLY);
    await machine.stop();
    expect(await value('2')).toBe('2');
  });

  it('it cannot be started: the words of podman, with what to run', async () => {
    await machine.answer('init');
    machine.trouble = 'Error: qemu exited unexpectedly with exit code 1';
    const { status, error } = await run('1');
    expect(status).toBe('error');
    expect(error?.message).toContain('qemu exited unexpectedly');
    expect(error?.remedy).toContain('podman machine start');
    machine.trouble = undefined;
    expect(await value('1')).toBe('1');
  });
});
