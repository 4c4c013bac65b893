// A container that is only streams: what the bridge sends is read as frames, and the test says what comes back. For
// what no real harness does: answers out of turn, no answer at all, an end at the worst moment.

import { PassThrough } from 'node:stream';
import type { Container, ContainerExit, Engine, SandboxSpec } from '../../src/engine/engine.js';
import { isExpectedWarning, saysNotAnswering } from '../../src/engine/machine/client-words.js';
import { Sandbox, type StartOptions } from '../../src/sandbox/conversation/sandbox.js';
import { type GuestFrame, PROTOCOL_VERSION, type SupervisorFrame } from '../../src/wire/frames.js';
import { HANGS_MS, NEVER } from './time.js';

type Sent = { readonly type: string } & Readonly<Record<string, unknown>>;

export class FakeContainer implements Container {
  readonly name = 'fake';
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exited: Promise<ContainerExit>;
  /** Host pid of its first process, for what is done only where the processes can be seen. */
  pid: number | undefined = undefined;
  /** Every frame that the bridge has sent. */
  readonly sent: Sent[] = [];
  isRunning = true;
  wasKilled = false;
  /** Called with each frame that the bridge sends. */
  onFrame: (frame: Sent) => void = () => {};
  #end: (exit: ContainerExit) => void = () => {};

  constructor() {
    this.exited = new Promise((resolve) => {
      this.#end = resolve;
    });
    let rest = '';
    this.stdin.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const frame of lines.map((line) => JSON.parse(line) as Sent)) {
        this.sent.push(frame);
        this.onFrame(frame);
      }
    });
  }

  /** Writes a frame to the supervisor's stream, whoever it is from. */
  say(frame: SupervisorFrame): void {
    this.stderr.write(lineOf(frame));
  }

  sayAsGuest(frame: GuestFrame): void {
    this.stdout.write(lineOf(frame));
  }

  kill(): void {
    this.wasKilled = true;
    this.end();
  }

  end(): void {
    this.isRunning = false;
    for (const stream of [this.stdout, this.stderr]) stream.end();
    this.endClient(137);
  }

  /** Has the engine's client exit, while output of the container may still be on its way. */
  endClient(code: number): void {
    this.#end({ code, signal: undefined });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
  }
}

/** In ASCII, as the harness writes it. */
const lineOf = (frame: object): string =>
  `${JSON.stringify(frame).replaceAll(/[\u0080-\uffff]/g, escaped)}\n`;

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** An engine that starts `container`, and whose client speaks as podman's does. */
export const engineOf = (container: Container): Engine =>
  ({
    start: () => container,
    says: { isExpected: isExpectedWarning, isUnreachable: saysNotAnswering },
  }) as unknown as Engine;

/** A sandbox in `container`, greeted. */
export function greeted(container: FakeContainer, more: Partial<StartOptions> = {}): Promise<Sandbox> {
  container.say({ type: 'hello', protocol: PROTOCOL_VERSION, harness: '0', python: '3' });
  const engine = engineOf(container);
  const options = { timeoutMs: HANGS_MS, observer: () => {}, ...more };
  return Sandbox.start(
    engine,
    { name: 'fake', data: [] as const } as Partial<SandboxSpec> as SandboxSpec,
    options,
    NEVER,
  );
}
