// The control of an escape test: the bridge's own spec with one wall changed, in a container that is thrown away. What
// gets through here and not in a sandbox was held by that wall.

import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { SandboxSpec } from '../../src/engine/engine.js';
import { removeRunDir } from '../../src/engine/machine/first-process.js';
import { setUpEngine, specOn } from '../../src/sandbox/launch/launch-set-up.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { bridgeEnv, tempHome } from './start-bridge.js';
import { HANGS_MS } from './time.js';

/** Output of `code` in the spec with `change`; fails where the code does not end with 0. */
export async function printedIn(
  change: Partial<SandboxSpec>,
  code: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const home = tempHome();
  const { settings } = parseSettings(bridgeEnv(home, env), hostFacts());
  const context = { settings, instance: randomBytes(6).toString('hex'), observer: () => {} };
  const pad = await setUpEngine(context, AbortSignal.timeout(HANGS_MS));
  try {
    const spec = { ...specOn(pad, context, 'control'), command: ['python3', '-I', '-c', code], ...change };
    await using container = pad.engine.start(spec);
    const [printed, said, exit] = await Promise.all([
      text(container.stdout),
      text(container.stderr),
      container.exited,
    ]);
    // One that was launched detached leaves no exit code, only what it printed.
    if (printed === '') throw new Error(`the control printed nothing (${exit.code ?? 'launched'}): ${said}`);
    return printed;
  } finally {
    removeRunDir({ stateDir: settings.stateDir, instance: context.instance });
    rmSync(home, { recursive: true, force: true });
  }
}
