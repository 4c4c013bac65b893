// Code of our own in a sandbox in which nobody else's ever runs, for what only the image's own Python can tell. What
// comes back still passes the parser like every guest's word, and the sandbox is used up like every other.

import type { OutputStream } from '../../base/process/streams.js';
import type { GuestFrame } from '../../wire/frames.js';
import type { Sandbox } from '../conversation/sandbox.js';

type OwnResult = {
  /** Value of the last expression; undefined when there was none. */
  readonly value: unknown;
  readonly stdout: string;
  readonly stderr: string;
};

/** Runs it to its end, or until `seconds` are over, which shows in what is missing. */
export async function runOwnCode(sandbox: Sandbox, code: string, seconds: number): Promise<OwnResult> {
  let value: unknown;
  const printed = { stdout: [] as string[], stderr: [] as string[] };
  const onGuest = (frame: GuestFrame) => {
    if (frame.type === 'result') value = frame.value;
  };
  const timer = setTimeout(() => sandbox.kill(), seconds * 1000);
  await Promise.race([sandbox.check(code), sandbox.ended]);
  if (sandbox.isAlive) {
    const run = {
      type: 'run',
      timeoutSeconds: seconds,
      loaded: [],
      discovered: [],
      files: [],
      program: null,
    } as const;
    const onOutput = (stream: OutputStream, text: string) => void printed[stream].push(text);
    sandbox.run(run, { onGuest, onOutput, onFile: () => {} });
    await sandbox.ended;
  }
  clearTimeout(timer);
  return { value, stdout: printed.stdout.join(''), stderr: printed.stderr.join('') };
}
