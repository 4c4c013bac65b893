// Images of others, made here in a second: our own without its Python, and one that holds a single program and no
// library, shell or folder besides. Both run programs, behind the same walls, by a Python that the guest does not come upon.

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { filesOf, startOf } from '../../src/run/programs/task.js';
import { Launcher } from '../../src/sandbox/launch/launcher.js';
import { kindOf } from '../../src/sandbox/spec/profile.js';
import { planFor } from '../../src/settings/environment/plan.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { type Language, languageNamed } from '../../src/settings/languages/records.js';
import { makeChangedImage, podman } from '../support/changed-image.js';
import { removeImages } from '../support/remove-images.js';
import { bridgeEnv, tempHome } from '../support/start-bridge.js';
import { NEVER } from '../support/time.js';

const NAME = `localhost/trial-fallback-${process.pid}`;
const WITHOUT_PYTHON = `${NAME}/without-python:1`;
const ONE_PROGRAM = `${NAME}/one-program:1`;

const bash = languageNamed('bash') as Language;
const sh: Language = { ...bash, ways: [{ needs: ['sh'], steps: [['sh', '{file}', '{args}']] }] };
const single: Language = { ...bash, ways: [{ needs: ['single'], steps: [['single', '--version']] }] };

const home = tempHome();
const { settings } = parseSettings(
  bridgeEnv(home, { MCP_BRIDGE_STATE_DIR: join(home, 'state'), MCP_BRIDGE_WARM: '0' }),
  hostFacts(),
);
let events: BridgeEvent[] = [];
const open = () => new Launcher(settings, { platform: 'linux' }, (event) => events.push(event));

/** A program that needs nothing but a kernel is at hand wherever Node runs: its own loader. */
const loaderOfNode = (): string =>
  /\S+\/ld[^/\s]*\.so[.\d]*$/m.exec(readFileSync('/proc/self/maps', 'utf8'))?.[0] ?? '';

beforeAll(async () => {
  await using launcher = open();
  const remove = 'import glob, os; [os.remove(each) for each in glob.glob("/usr/*bin/python3*")]';
  makeChangedImage(WITHOUT_PYTHON, remove, await launcher.pad());
  const folder = mkdtempSync(join(tmpdir(), 'trial-fallback-'));
  const archive = join(folder, 'image.tar');
  mkdirSync(join(folder, 'bin'));
  copyFileSync(loaderOfNode(), join(folder, 'bin/single'));
  execFileSync('tar', ['-C', folder, '-cf', archive, 'bin']);
  podman('import', '--quiet', archive, ONE_PROGRAM);
  rmSync(folder, { recursive: true });
});
afterAll(() => removeImages(WITHOUT_PYTHON, ONE_PROGRAM));

/** What a program of `language` prints in `image`, and how it ends. */
async function run(launcher: Launcher, language: Language, image: string, code: string) {
  const kind = { ...kindOf(planFor(language, settings), settings), image, imageSource: 'operator' } as const;
  const sandbox = await launcher.start(kind, NEVER);
  const entry = { code, file: 'main.sh', args: ['a b'], stdin: undefined, env: {} };
  const task = { type: 'program', language, ...entry } as const;
  const printed = { stdout: '', stderr: '' };
  sandbox.run(
    {
      type: 'run',
      timeoutSeconds: 100,
      loaded: [],
      discovered: [],
      files: filesOf(task, []),
      program: startOf(task),
    },
    {
      onOutput: (stream, text) => {
        printed[stream] += text;
      },
      onGuest: () => {},
      onFile: () => {},
    },
  );
  const end = await sandbox.ended;
  launcher.retire(sandbox);
  return { ...printed, end, spec: sandbox.spec };
}

const started = () =>
  events.flatMap((event) =>
    event.type === 'setup.step' && event.step === 'starting a container' ? [1] : [],
  );

it('runs programs where there is no Python, and the guest neither finds ours nor is changed by it', async () => {
  await using launcher = open();
  events = [];
  const code = `
echo "$0 $1"; command -v python3 python; env | sort
for file in /python-fallback /python-fallback/loader /python-fallback/bin/python3 /python-fallback/new; do (echo x >> $file) 2> /dev/null && echo "wrote $file"; done
grep -o " /python-fallback .*" /proc/mounts | tr , "\\n" | grep -xE " /python-fallback .* ro|nosuid|nodev"
exit 3`;
  const { stdout, stderr, end, spec } = await run(launcher, sh, WITHOUT_PYTHON, code);
  const lines = stdout.trim().split('\n');
  expect([lines[0], stderr, end]).toMatchObject([
    './main.sh a b',
    '',
    { how: 'exited', report: { code: 3 } },
  ]);
  const env = lines.filter((line) => /^\w+=/.test(line));
  expect(env.map((line) => line.split('=')[0])).toEqual(
    expect.arrayContaining(['HOME', 'LANG', 'PATH', 'PWD', 'TMPDIR']),
  );
  expect(env.filter((line) => /^(?:LD_|PYTHON)|python-fallback/.test(line))).toEqual([]);
  expect(lines.filter((line) => line.startsWith('wrote'))).toEqual([]);
  expect(lines.at(-1)).toBe('nodev');
  expect(spec.mounts.map(({ target, executable }) => [target, executable])).toEqual([
    ['/ipc', false],
    ['/python-fallback', true],
  ]);
  // The image's own was tried by both names, ours taken and then used; from now on it is known.
  expect(started()).toHaveLength(3);
  events = [];
  await run(launcher, sh, WITHOUT_PYTHON, ':');
  expect(started()).toHaveLength(1);
});

it('and where there is nothing at all besides the program; what was changed on disk is mended', async () => {
  const [tree = ''] = readdirSync(join(settings.stateDir, 'python-fallback'));
  const loader = join(settings.stateDir, 'python-fallback', tree, 'loader');
  const installed = readFileSync(loader);
  writeFileSync(loader, 'other');
  await using launcher = open();
  const { stdout, end } = await run(launcher, single, ONE_PROGRAM, '');
  expect(stdout).toMatch(/^(?:ld\.so|musl)/);
  expect(end).toMatchObject({ how: 'exited', report: { code: 0 } });
  expect(readFileSync(loader).equals(installed)).toBe(true);
});

it('programs in Python are told that the image has none', async () => {
  await using launcher = open();
  const python = languageNamed('python') as Language;
  await expect(run(launcher, python, ONE_PROGRAM, 'print(1)')).rejects.toMatchObject({
    code: 'E_IMAGE_MISSING',
    message: expect.stringContaining(ONE_PROGRAM),
  });
});
