// `doctor --probe` against this machine, and its positive control: the same attempts in a throw-away container without
// the walls must all get through, or an ENFORCED would mean nothing.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../src/base/process/process.js';
import { AttackedBridge } from '../../src/cli/probe/attack.js';
import type { ProbedSandbox } from '../../src/cli/probe/control.js';
import { judgeWall } from '../../src/cli/probe/judge.js';
import { attackSession, judgeSession, SESSION_ATTACKS } from '../../src/cli/probe/probe.js';
import type { ProbeReport } from '../../src/cli/probe/report.js';
import { guestCode, openCanaries, WALLS } from '../../src/cli/probe/walls.js';
import { driverOf } from '../../src/engine/engines.js';

import { UNENFORCED } from '../../src/engine/machine/enforcement.js';
import { pythonProfile } from '../../src/sandbox/spec/profile.js';
import { sandboxSpec } from '../../src/sandbox/spec/spec.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { command } from '../cli/command.js';
import { startBridge, tempHome } from '../support/start-bridge.js';
import { HANGS_MS, NEVER } from '../support/time.js';

const isRoot = process.getuid?.() === 0;
/** The attacks want twice the limit of 64 MB; the rest is the interpreter's. */
const MAX_OVERSHOOT_MB = 100;
/** Longer than any attack on a session takes. */
const GOES_ON_SECONDS = 60;

let home: string;
let report: ProbeReport;
let exitCode: number | null;
let stderr: string;
beforeAll(async () => {
  home = tempHome();
  // Of its own: what it remembers is read back below.
  const env = { MCP_BRIDGE_STATE_DIR: join(home, 'state'), PROBE_CANARY: 'x' };
  const ended = await command(['doctor', '--probe', '--json'], { home, env });
  ({ exitCode, stderr } = ended);
  report = JSON.parse(ended.stdout) as ProbeReport;
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const of = (control: string) => report.controls.find((one) => one.control === control);

describe('doctor --probe', () => {
  it('says something of every wall and every limit, and its counts add up', () => {
    const { enforced, watchdog, notEnforced, unknown } = report.summary;
    expect(enforced + watchdog + notEnforced + unknown).toBe(report.controls.length);
    expect(report.controls.map(({ control }) => control)).toEqual(
      expect.arrayContaining([
        ...WALLS.map(({ control }) => control),
        'processes',
        'deadline',
        'container log',
        ...SESSION_ATTACKS.map(({ control }) => control),
      ]),
    );
    expect(stderr).toBe('');
  });

  it('finds every wall standing that stands wherever the engine works', () => {
    const gone = report.controls.filter(({ verdict }) => verdict === 'NOT ENFORCED');
    expect(gone).toEqual([]);
    expect(of('user namespace')?.verdict).toBe('ENFORCED');
    expect(of('seccomp')).toMatchObject({ verdict: 'ENFORCED', requested: 'a filter (strict)' });
    expect(exitCode).toBe(0);
  });

  const memoryControls = [
    'memory, in four processes',
    'memory, shared',
    'memory, files in tmpfs',
    'memory, buffers of sockets',
  ];
  it.each(memoryControls)('%s: tells a cgroup from a watchdog', (control) => {
    const found = of(control);
    if (isRoot) return expect(found).toMatchObject({ verdict: 'ENFORCED', how: 'attack; cgroup' });
    expect(found).toMatchObject({ verdict: 'WATCHDOG', how: 'attack; weighed from outside' });
    expect(found?.overshootMb).toBeLessThan(MAX_OVERSHOOT_MB);
  });

  it('names who holds the processes', () => {
    const by = isRoot ? 'cgroup' : 'rlimit, per user id';
    expect(of('processes')).toMatchObject({ verdict: 'ENFORCED', how: `fork until refused; ${by}` });
  });

  it('saw the end of everything that must end', () => {
    expect(of('deadline')).toMatchObject({
      verdict: 'ENFORCED',
      observed: expect.stringMatching(/^ended after \d+\.\d\d s, nothing left$/),
    });
    expect(of('a bridge that is killed')?.observed).toMatch(/^gone after \d+ ms$/);
    expect(of('container log')?.verdict).toBe('ENFORCED');
    expect(of("dead-man's switch")).toMatchObject({ verdict: 'ENFORCED', observed: '150 s' });
  });

  it('does not find fault with a runtime whose version it cannot judge, and says so', () => {
    expect(of('OCI runtime')).toMatchObject({ required: false });
  });

  it('is remembered: the next start says it in one line of its log', async () => {
    await using bridge = await startBridge({}, { env: { MCP_BRIDGE_STATE_DIR: join(home, 'state') } });
    await bridge.run('1');
    const lines = bridge
      .stderr()
      .split('\n')
      .filter((line) => line.includes('walls.known'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`probed ${report.probedAt}: ${report.summary.enforced} enforced`);
  });

  it('doctor says how late the watchdog was, where there is one', async () => {
    const env = { MCP_BRIDGE_STATE_DIR: join(home, 'state') };
    const { stdout } = await command(['doctor', '--json'], { home, env });
    const { findings } = JSON.parse(stdout) as { findings: { name: string; detail: string }[] };
    const limits = findings.find(({ name }) => name === 'limits')?.detail;
    if (isRoot) expect(limits).toContain('memory: cgroup; ');
    else expect(limits).toContain(`${report.summary.maxOvershootMb} MB late when probed ${report.probedAt}`);
  });

  it('no probe is forgotten silently: another memory limit is another set-up', async () => {
    const env = { MCP_BRIDGE_STATE_DIR: join(home, 'state'), MCP_BRIDGE_MEMORY: '256m' };
    await using bridge = await startBridge({}, { env });
    await bridge.run('1');
    expect(bridge.stderr()).toContain('not probed since the last boot');
  });

  it('exits with 2 where nothing can be probed', async () => {
    const ended = await command(['doctor', '--probe'], {
      home,
      env: { MCP_BRIDGE_RUNTIME: '/nowhere/podman' },
    });
    expect(ended.stderr).toContain('No container engine');
    expect(ended.exitCode).toBe(2);
  });
});

it('code of a session that may go on does so, whatever it does besides', async () => {
  const env = { MCP_BRIDGE_STATE_DIR: join(home, 'state') };
  const host = { ...hostFacts(), home };
  const { settings } = parseSettings(env, host);
  const { signal } = new AbortController();
  await using attacked = new AttackedBridge(settings, { settings, env, host }, () => {});
  for (const attack of SESSION_ATTACKS) {
    const going = { ...attack, code: `${attack.code}\nruntime.keep_running()` };
    const seen = await attackSession(attacked.bridge, going, signal, GOES_ON_SECONDS);
    expect(judgeSession(seen, attack)).toMatchObject({ verdict: 'NOT ENFORCED' });
  }
});

// A rootless engine cannot take all of them away: some files of the kernel are root's in any container.
it.runIf(isRoot)('without the walls every attempt gets through', async () => {
  await using canaries = await openCanaries();
  const hostOf = { home, platform: 'linux', cores: 2, cwd: home, uid: 0, exists: () => false } as const;
  const { settings } = parseSettings({}, hostOf);
  const probed: ProbedSandbox = {
    spec: sandboxSpec({
      image: report.image,
      harnessDir: home,
      fallbackDir: undefined,
      seccompFile: home,
      enforcement: UNENFORCED,
      networkMode: undefined,
      cores: 1,
      name: 'none',
      user: '65534:65534',
      kind: pythonProfile(settings),
      maxTimeoutSeconds: 1,
      maxWaitSeconds: 0,
    }),
    settings,
    choice: {
      ids: 'userns-mapped',
      architecture: 'amd64',
      limits: { memory: true, pids: true, cpu: true },
      ...report.engine,
      mode: 'userns-mapped',
      storageDriver: '',
      storageRoot: '',
      tried: [],
      enforcement: UNENFORCED,
    },
    engine: driverOf('podman').open({
      binary: 'podman',
      ociRuntime: { name: report.engine.ociRuntime, flags: report.engine.ociFlags },
      facts: {
        mode: 'userns-mapped',
        ids: 'userns-mapped',
        architecture: '',
        storageDriver: '',
        storageRoot: '',
      },
      url: undefined,
      instance: 'none',
      stateDir: home,
      observer: () => {},
      acceptsOpenNetwork: false,
    }),
    hostEnvNames: ['PROBE_CANARY'],
  };
  // A descriptor that a child inherits, and a printed value in place of a shown one.
  const code = guestCode(WALLS, canaries, probed)
    .replace('import ctypes', 'import os; os.set_inheritable(os.open("/", 0), True)\nimport ctypes')
    .replace(/^(answers\(.*\))$/m, 'print(json.dumps($1))');
  const argv = [
    ...['--log-level=error', `--runtime=${report.engine.ociRuntime}`, 'run', '--rm', '--interactive'],
    ...[
      '--pull=never',
      '--network=host',
      '--pid=host',
      '--log-driver=passthrough',
      '--cap-add=all',
      '--user=0:0',
      '--tz=Asia/Tokyo',
    ],
    ...['--security-opt=seccomp=unconfined', '--security-opt=unmask=ALL', '--hostname=host'],
    ...['--tmpfs=/tmp:exec', '--tmpfs=/workspace:exec', '--ulimit=nofile=4096:4096', '--ulimit=core=1000000'],
    ...['--ulimit=nproc=512:512', '--device=/dev/zero:/dev/probe', `--volume=${home}:/home-of-the-host`],
    ...['--env=PROBE_CANARY=x', '--entrypoint=', report.image, 'python3', '-'],
  ];
  const { stdout } = await run(['podman', ...argv], { input: code, timeoutMs: HANGS_MS }, NEVER);
  const answers = JSON.parse(stdout) as Record<string, unknown>;
  const visitors = canaries.visitors();
  expect(visitors).toEqual({ tcp: canaries.addresses.length, abstract: 1 });
  const judged = WALLS.map((wall) => judgeWall(wall, answers, visitors, probed));
  const held = judged.filter(({ verdict }) => verdict !== 'NOT ENFORCED');
  expect(held.map(({ control, observed, verdict }) => [control, observed, verdict])).toEqual([]);
});
