// The tool `execute` by the front door, in containers of its own, under gVisor where that is installed and under the engine's own
// runtime: what it leaves for later commands, what holds it, and that nothing stays.

import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { suiteWithImage } from '../support/built-image.js';
import { ourVolumes } from '../support/nothing-left.js';
import { startBridge } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';
import { ACCEPT, call, inEachKind, LAUNCHED, RUNSC, sh, text } from './executing.js';

inEachKind('execute in containers', ({ bridge, oci, start }) => {
  it('keeps /work for the next command, and nothing else', async () => {
    const script =
      'printf "#!/bin/sh\\necho ran from work\\n" > tool; chmod +x tool; echo x > /tmp/gone; touch /etc/x 2>/dev/null || echo read-only';
    expect(text(await call(bridge(), sh(script)))).toBe('read-only');
    expect(text(await call(bridge(), { command: './tool' }))).toBe('ran from work');
    expect(text(await call(bridge(), sh('[ -e /tmp/gone ] || echo gone; id -u')))).toBe('gone\n65534');
    // Side by side they share it.
    await Promise.all([1, 2].map((n) => call(bridge(), sh(`echo ${n} > side-${n}; sleep 0.2`))));
    expect(text(await call(bridge(), sh('cat side-1 side-2 && rm side-*')))).toBe('1\n2');
    expect(ourVolumes().length).toBe(1);
  });

  // podman 4.3 gave up on a volume whose last container was being removed, and it stayed.
  it('leaves no volume when it ends right after a call', async () => {
    const before = ourVolumes().length;
    const short = await start();
    await call(short, { command: 'true' });
    await short[Symbol.asyncDispose]();
    expect(ourVolumes().length).toBe(before);
  });

  // Under one runtime is enough: what is shared, and what is swept, is the engine's business.
  it.runIf(oci === 'auto')(
    'no other bridge has it, and the next one removes what a killed one left',
    async () => {
      const doomed = await start();
      expect(text(await call(doomed, sh('[ -e tool ] || echo none')))).toBe('none');
      expect(ourVolumes().length).toBe(2);
      process.kill(doomed.pid, 'SIGKILL');
      await using next = await start();
      await call(next, { command: 'true' });
      expect(await eventually(() => ourVolumes().length === 2)).toBe(true);
      await doomed[Symbol.asyncDispose]();
    },
  );

  it('has many processes at once, and is held to their limit', async () => {
    const many = sh('for each in $(seq 60); do sleep 0.3 & done; wait; echo all');
    expect(text(await call(bridge(), many))).toBe('all');
    // Whoever starts it forks nothing after its first process: the bomb may leave it none.
    const bomb = sh('sleep 60 & (bomb() { bomb | bomb & }; bomb) & wait', { timeout_ms: 2_000 });
    expect(text(await call(bridge(), bomb))).toMatch(/^\[killed after its timeout of 2000 ms\]/);
    expect(text(await call(bridge(), sh('echo well')))).toBe('well');
  });

  it(oci === 'runsc' ? 'is on a kernel of its own' : 'has no network', async () => {
    if (oci === 'runsc') {
      const { stdout = '' } = (await call(bridge(), sh('cat /proc/version'))).structuredContent as {
        stdout?: string;
      };
      expect(stdout).toContain('Linux version');
      expect(stdout).not.toBe(execFileSync('cat', ['/proc/version'], { encoding: 'utf8' }));
    } else {
      const net = 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "';
      expect(text(await call(bridge(), sh(net)))).toBe('lo');
    }
  });
});

suiteWithImage('code-exec', 'execute in its own image', () => {
  it.skipIf(RUNSC === undefined)('has ls and stat also where gVisor is old', async () => {
    const { MCP_BRIDGE_TOOLS } = LAUNCHED;
    await using bridge = await startBridge({}, { env: { MCP_BRIDGE_TOOLS, ...ACCEPT } });
    const look = 'mkdir -p folder && ls -l | tail -n +2 && stat -c %F folder && git --version';
    expect(text(await call(bridge, sh(look)))).toMatch(/^drwx.* folder\ndirectory\ngit version/);
  });
});
