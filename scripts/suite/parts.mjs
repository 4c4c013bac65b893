// The parts of the suite, as data, in the order in which they run, one after the other. `run(files)` runs a part, or only these files
// of it, and resolves to its results (results.mjs). Those with `inAll` belong to `scripts/test --all`; one with `asRoot` needs root.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REMOTE_KINDS, whyNoRemoteEngine } from '../remote/engines.mjs';
import { environmentOn, MAIN_JOB, QUICK_WALLS, OWN as REMOTE_OWN, SHORT, WALLS } from '../remote/suite.mjs';
import { chooseOciRuntime, run } from './processes.mjs';
import { passedOver, unittestResults, verdict } from './results.mjs';
import { asTestUser } from './test-user.mjs';
import { vitest } from './vitest.mjs';

const OWN_IMAGES = 'localhost/mcp-sandbox-bridge';
/** Those that set-up leaves to who wants them: of the languages besides Python, and of commands. */
const FURTHER_PROFILES = ['go', 'javascript', 'bash', 'ruby', 'code-exec'];

/** How many hostile inputs the parsers get here; whoever runs the unit tests alone gets a part of them. */
const FUZZ = { FUZZ_INPUTS: '100000', FUZZ_VALUES: '10000' };
/** More faults of each kind, as `npm run faults` has them; its hundreds of kills stay there. */
const EVERY_FAULT = { FAULT_THOROUGH: '1' };

const frontDoor = (...names) => names.map((name) => `test/front-door/${name}.test.ts`);

/**
 * Of these two files run at once: they neither measure time nor count what the machine, its containers or its processes do, nor use
 * up what one user may have. No faults, walls or kills are among them.
 */
const SIDE_BY_SIDE = frontDoor(
  ...['approvals', 'approvals-by-answers', 'audit', 'changed-config', 'docs', 'errors', 'http-operation'],
  ...['isolator-config', 'login', 'main-job', 'on-demand', 'other-client', 'policy', 'real-servers'],
  ...['resources', 'session-ends', 'unloaded'],
);
const TWO_AT_ONCE = ['--fileParallelism', '--maxWorkers=2'];
/** They need an image that set-up does not make, gVisor, or a network for sandboxes. */
const LANGUAGES_AND_COMMANDS = [
  ...frontDoor('execute', 'execute-answers', 'execute-code', 'go', 'javascript', 'snippets'),
  ...['code-exec', 'gvisor', 'languages', 'network'].map((name) => `test/containers/${name}.test.ts`),
  'test/cli/exec/containers.test.ts',
];
/** What is attacked in a container, whichever runtime has it. */
const WALLS_OF_SANDBOXES = [WALLS, 'test/walls/sessions/containers.test.ts'];
/** The attack tables, and what is attacked besides. */
const WALL_FILES = [
  ...WALLS_OF_SANDBOXES,
  'test/walls/principals/containers.test.ts',
  ...['walls', 'probe', 'limits', 'seccomp'].map((name) => `test/containers/${name}.test.ts`),
];
/** Clocks of half a minute and more. */
const WAITING = [...frontDoor('engine-clock'), 'test/containers/pull.test.ts'];
const FAULTS = ['test/faults'];
/** Images, kinds of Python and set-up: what changes seldom. */
const FURTHER = ['test/containers', 'test/scripts/containers.test.ts', 'test/front-door/installed.test.ts'];
/** Tests of what is the bridge's business and not the engine's mode: once is enough. */
const ONCE = [
  'test/faults/**',
  'test/front-door/{approvals,approvals-by-answers,asking,asking-by-answers,audit,changed-config,http-operation,login}.test.ts',
  'test/front-door/{on-demand,policy,real-servers,resources,unloaded}.test.ts',
  'test/front-door/{answers,code,data,docs,errors,errors-at-limits,files,hostile-text,preflight,progress}.test.ts',
  'test/front-door/{downstream,hostile-code,listing,other-client,secrets}.test.ts',
  // Of the languages, the answers of execute_code, Go's cache and the network stay: they meet what the mode decides.
  'test/front-door/{isolator-config,javascript,snippets}.test.ts',
  'test/cli/{containers.test.ts,exec/**}',
  // Each is a command of its own, whose engine may still tidy up in the home that it was given and that is gone by then.
  'test/scripts/containers.test.ts',
  'test/containers/{compiled-harness,image-study,kinds,python-fallback,python-name,setup}.test.ts',
  'test/front-door/{execute-answers,installed,output,session-ends,warm}.test.ts',
  'test/walls/{principals,sessions}/**',
  // Only root can start what stands for other machines.
  'test/remote/**',
  ...WAITING,
];

/**
 * `context` has the checkout's `root`, a `scratch` folder, `isRoot`, whether it `isAll`, and after how long a silence something hangs
 * (`silentMs`).
 */
export function partsOf(context) {
  const { isAll } = context;
  const containers = (selection) => (files) => vitest(context, 'containers', { ...selection, files });
  return [
    { name: 'check', run: () => command(context, ['npm', 'run', '--silent', 'check']) },
    { name: 'unit', run: (files) => vitest(context, 'unit', { files, env: FUZZ }) },
    { name: 'python', run: (modules) => pythonOnHost(context, modules) },
    { name: 'python-in-image', run: (modules) => pythonInImage(context, modules) },
    { name: 'programs', run: (files) => vitest(context, 'programs', { files }) },
    {
      name: 'side-by-side',
      run: containers({ only: SIDE_BY_SIDE, flags: TWO_AT_ONCE }),
    },
    {
      name: 'containers',
      run: containers({
        except: [
          SIDE_BY_SIDE,
          LANGUAGES_AND_COMMANDS,
          WALL_FILES,
          FAULTS,
          FURTHER,
          WAITING,
          REMOTE_OWN,
        ].flat(),
      }),
    },
    {
      name: 'faults',
      run: containers({ only: FAULTS, except: REMOTE_OWN, env: isAll ? EVERY_FAULT : {} }),
    },
    {
      name: 'walls',
      run: containers({ only: WALL_FILES, env: isAll ? {} : { WALLS_ONLY: QUICK_WALLS } }),
    },
    {
      name: 'ordinary-user',
      asRoot: true,
      run: (files) =>
        asTestUser(context, {
          files,
          ...(isAll
            ? { except: ONCE }
            : { only: [MAIN_JOB, WALLS, 'test/containers/walls.test.ts'], env: { WALLS_ONLY: QUICK_WALLS } }),
        }),
    },
    ...furtherParts(context, containers).map((part) => ({ ...part, inAll: true })),
  ];
}

const furtherParts = (context, containers) => [
  { name: 'further-images', run: () => furtherImages(context) },
  { name: 'languages-and-commands', run: containers({ only: LANGUAGES_AND_COMMANDS }) },
  {
    name: 'further-containers',
    run: containers({ only: FURTHER, except: [...LANGUAGES_AND_COMMANDS, ...WALL_FILES, ...WAITING] }),
  },
  { name: 'waiting', run: containers({ only: WAITING }) },
  { name: 'page', run: () => pageInBrowser(context) },
  { name: 'walls-under-gvisor', run: (files) => wallsUnderGvisor(context, files) },
  ...REMOTE_KINDS.map((kind) => ({
    name: kind,
    asRoot: true,
    run: (files) => remoteParts(context, kind, files),
  })),
  { name: 'engines-elsewhere', asRoot: true, run: containers({ only: REMOTE_OWN }) },
];

/** Exit code of a script for something that this machine lacks. */
const NO_BROWSER = 3;

const exists = async (argv) => (await run(argv, { quiet: true })).exitCode === 0;

async function command({ silentMs }, argv, options = {}) {
  const { exitCode, output } = await run(argv, { silentMs, ...options });
  return verdict(exitCode === 0, `${argv.join(' ')} ended with ${exitCode}:\n${output.slice(-2_000)}`);
}

const UNITTEST = ['-m', 'unittest'];
const EVERY_MODULE = ['discover', '-s', 'tests', '-t', '.'];

async function unittest({ scratch, silentMs }, argv) {
  // conmon writes an empty file `oom` into its working directory when a container runs out of memory.
  const ended = await run(argv, { silentMs, cwd: scratch });
  return unittestResults(ended);
}

async function pythonOnHost(context, modules = EVERY_MODULE) {
  if (!(await exists(['python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 9))']))) {
    console.log('python3 (3.9 or newer) is not on this host');
    return passedOver();
  }
  const runtime = join(context.root, 'sandbox-runtime');
  return unittest(context, [
    ...['env', '-C', runtime, 'PYTHONDONTWRITEBYTECODE=1', 'python3'],
    ...[...UNITTEST, ...modules],
  ]);
}

async function pythonInImage(context, modules = EVERY_MODULE) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  let image;
  for (const name of [process.env.MCP_BRIDGE_IMAGE, 'python:3.14-slim', `${OWN_IMAGES}/python:${version}`])
    if (image === undefined && name && (await exists(['podman', 'image', 'exists', name]))) image = name;
  if (image === undefined) return verdict(false, 'there is no image; run scripts/setup');
  return unittest(context, [
    'podman',
    ...(await chooseOciRuntime(image)),
    'run',
    '--rm',
    '--network=none',
    '--read-only',
    '--user=65534:65534',
    '--ulimit=nofile=1024:1024',
    '--ulimit=nproc=4096:4096',
    '--tmpfs=/tmp:mode=1777',
    `--volume=${context.root}/sandbox-runtime:/src:ro`,
    '--workdir=/src',
    '--env=PYTHONDONTWRITEBYTECODE=1',
    ...[image, 'python3', ...UNITTEST, ...modules],
  ]);
}

/** Builds what is missing of the further images. Where none can be built the tests that need one are passed over, and say so. */
async function furtherImages(context) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const missing = [];
  for (const profile of FURTHER_PROFILES) {
    const { name } = JSON.parse(readFileSync(`sandbox-runtime/images/${profile}.json`, 'utf8'));
    if (!(await exists(['podman', 'image', 'exists', `${OWN_IMAGES}/${name}:${version}`])))
      missing.push(profile);
  }
  if (missing.length === 0) return verdict(true);
  if (!(await exists(['mmdebstrap', '--version']))) {
    console.log(`mmdebstrap is not on this host; without images: ${missing.join(', ')}`);
    return passedOver();
  }
  return command(context, [process.execPath, 'dist/cli/main.js', 'image', 'build', ...missing]);
}

async function wallsUnderGvisor(context, files = WALLS_OF_SANDBOXES) {
  if (!(await exists(['runsc', '--version']))) {
    console.log('runsc is not on this host');
    return passedOver();
  }
  return vitest(context, 'containers', { files, env: { WALLS_RUNTIME: 'runsc' } });
}

/** Both pages in a real browser. One that is missing is told by the script itself, with an exit code of its own. */
async function pageInBrowser({ silentMs }) {
  const argv = [process.execPath, 'scripts/test-page.mjs'];
  const { exitCode, output } = await run(argv, { silentMs });
  if (exitCode === NO_BROWSER) return passedOver();
  return verdict(exitCode === 0, `${argv.join(' ')} ended with ${exitCode}:\n${output.slice(-2_000)}`);
}

/** What stands for everybody's run against an engine that runs elsewhere; `npm run test:remote` has all. */
async function remoteParts(context, kind, files = SHORT[kind]) {
  const why = whyNoRemoteEngine(kind);
  if (why !== undefined) {
    console.log(`no ${kind}: ${why}`);
    return passedOver();
  }
  return vitest(context, 'containers', { files, env: environmentOn(kind, { isShort: true }) });
}
