// Every check and test there is, each with a time limit, and one table at the end. The further images are built on the
// way, where they are missing. As root the container tests run a second time for an unprivileged user, who gets a copy
// of the checkout and of the images, and a few of them against engines that run elsewhere. The last part looks for what
// the others left behind. After the table each failed test is named, since whoever keeps the end of a long log has that.
// The very last line is `N passed, N failed, N skipped`.

import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import pc from 'picocolors';
import { REMOTE_KINDS, whyNoRemoteEngine } from './remote/engines.mjs';
import { OWN, SHORT, suiteOn } from './remote/suite.mjs';
import { chooseOciRuntime, containersOf, listTemporary, MARK, processesOf, run } from './test-parts.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MINUTE = 60_000;
const MAX_SHOWN_CHARS = 20_000;
const MAX_SHOWN_FAILURE_CHARS = 1_000;
const OWN_IMAGES = 'localhost/mcp-sandbox-bridge';
const OWN_IMAGE = `${OWN_IMAGES}/python`;
/** Those that set-up leaves to who wants them: of the languages besides Python, and of commands. */
const FURTHER_PROFILES = ['go', 'javascript', 'bash', 'ruby', 'code-exec'];
/** The user's tests of commands do with the base image. */
const ROOTS_OWN = /\/code-exec:/;
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
  // A minute of attacks; containers/walls, probe and languages make the gravest in either mode, `npm run walls` all.
  'test/walls/**',
  // Only root can start what stands for other machines.
  'test/remote/**',
];
/** How many hostile inputs the parsers get here; whoever runs the unit tests alone gets a part of them. */
const FUZZ = ['env', 'FUZZ_INPUTS=100000', 'FUZZ_VALUES=10000'];
/** They wait, and use nothing meanwhile: beside the unit tests, and for one user, since clocks are the same for all. */
const WAITING = ['test/front-door/engine-clock.test.ts', 'test/containers/pull.test.ts'];
/** They start containers, and no deadline in them is short: one at a time, beside Python's tests, which leave the processors something. */
const UNTIMED = [
  'test/scripts/containers.test.ts',
  'test/cli/exec/containers.test.ts',
  'test/walls/principals/containers.test.ts',
];
/**
 * Of these two run at once: they neither measure time nor have a deadline under ten seconds, nor count what the machine, its
 * containers or its processes do, nor use up what one user may have. No faults, walls or kills are among them.
 */
const PAIRED = [
  ...['approvals', 'approvals-by-answers', 'audit', 'changed-config', 'docs', 'errors', 'http-operation'],
  ...[
    'isolator-config',
    'login',
    'main-job',
    'on-demand',
    'other-client',
    'policy',
    'real-servers',
    'resources',
  ],
  ...['session-ends', 'snippets', 'unloaded'],
].map((name) => `test/front-door/${name}.test.ts`);
const TWO_AT_ONCE = ['--fileParallelism', '--maxWorkers=2'];
/** Of what gives way to what runs beside it: half of its share. With much more, its first tests waited until their time was over. */
const NICENESS = 3;
const isRoot = process.getuid?.() === 0;

process.chdir(ROOT);
// Inherited by whatever a part starts, so that what is left can be told from anybody else's.
process.env[MARK] = randomBytes(8).toString('hex');
const scratch = mkdtempSync(join(tmpdir(), 'mcp-sandbox-bridge-report-'));
const temporaryBefore = listTemporary();

const parts = [];
async function part(name, work) {
  console.log(pc.bold(`\n── ${name}`));
  const startedAt = performance.now();
  let counts;
  try {
    counts = await work();
  } catch (thrown) {
    console.log(pc.red(thrown instanceof Error ? thrown.message : String(thrown)));
    counts = { passed: 0, failed: 1, skipped: 0 };
  }
  parts.push({ name, ...counts, seconds: (performance.now() - startedAt) / 1000 });
}

const verdict = (ok) => ({ passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 });

/** Counts of a vitest JSON report; a run that ends badly without a failed test (teardown, import) is one failure. */
function countsOf(report, exitCode) {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  const brokenFiles = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  const failed = numFailedTests + brokenFiles.length;
  return {
    passed: numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: numPendingTests + numTodoTests,
    failures: [
      ...brokenFiles.map(({ name, message }) => [relative(ROOT, name), message]),
      ...testResults.flatMap(({ name, assertionResults }) =>
        assertionResults
          .filter(({ status }) => status === 'failed')
          .map(({ fullName, failureMessages }) => [
            `${relative(ROOT, name)}: ${fullName}`,
            failureMessages.join('\n'),
          ]),
      ),
    ],
  };
}

async function vitest(
  project,
  { timeoutMs, cwd = ROOT, report = join(scratch, `${project}.json`), as = [], flags = [], niceness },
) {
  const vitestMain = join(cwd, 'node_modules/vitest/vitest.mjs');
  const argv = [
    ...as,
    process.execPath,
    vitestMain,
    'run',
    `--project=${project}`,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...flags,
  ];
  const { exitCode } = await run(argv, { timeoutMs, cwd, niceness });
  return countsOf(report, exitCode);
}

/** Counts of Python's unittest, from the two lines that it ends with. */
async function unittest(argv) {
  // conmon writes an empty file `oom` into its working directory when a container runs out of memory.
  const { exitCode, output } = await run(argv, { timeoutMs: 4 * MINUTE, cwd: scratch, quiet: true });
  console.log(`\n${argv[0]} … unittest\n${output.slice(-MAX_SHOWN_CHARS)}`);
  const ran = Number(/^Ran (\d+) tests?/m.exec(output)?.[1] ?? Number.NaN);
  if (Number.isNaN(ran)) throw new Error('unittest did not report');
  const number = (word) =>
    Number(new RegExp(`\\b${word}=(\\d+)`).exec(output.slice(output.lastIndexOf('Ran ')))?.[1] ?? 0);
  const bad = number('failures') + number('errors') + number('unexpected successes');
  const failed = bad === 0 && exitCode !== 0 ? 1 : bad;
  const skipped = number('skipped');
  const failures = [...output.matchAll(/^(?:FAIL|ERROR): .*/gm)].map(([line]) => [line, '']);
  return { passed: Math.max(0, ran - failed - skipped), failed, skipped, failures };
}

const UNITTEST = ['-m', 'unittest', 'discover', '-s', 'tests', '-t', '.'];

async function pythonInImage() {
  const version = JSON.parse(readFileSync('package.json', 'utf8')).version;
  const wanted = [process.env.MCP_BRIDGE_IMAGE, 'python:3.14-slim', `${OWN_IMAGE}:${version}`];
  let image;
  for (const name of wanted) {
    if (name && (await run(['podman', 'image', 'exists', name], { quiet: true })).exitCode === 0)
      image ??= name;
  }
  if (image === undefined) throw new Error('there is no image; run scripts/setup');
  const runtime = await chooseOciRuntime(image);
  return unittest([
    'podman',
    ...runtime,
    'run',
    '--rm',
    '--network=none',
    '--read-only',
    '--user=65534:65534',
    '--ulimit=nofile=1024:1024',
    '--ulimit=nproc=4096:4096',
    '--tmpfs=/tmp:mode=1777',
    `--volume=${ROOT}/sandbox-runtime:/src:ro`,
    '--workdir=/src',
    '--env=PYTHONDONTWRITEBYTECODE=1',
    image,
    'python3',
    ...UNITTEST,
  ]);
}

/**
 * Builds what is missing of the further images, three minutes of one processor, politely beside tests that mostly wait.
 * Where no image can be built the tests that need one are skipped, and say so.
 */
async function furtherImages() {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const missing = [];
  for (const profile of FURTHER_PROFILES) {
    const { name } = JSON.parse(readFileSync(`sandbox-runtime/images/${profile}.json`, 'utf8'));
    const image = `${OWN_IMAGES}/${name}:${version}`;
    if ((await run(['podman', 'image', 'exists', image], { quiet: true })).exitCode !== 0)
      missing.push(profile);
  }
  if (missing.length === 0) return verdict(true);
  if ((await run(['mmdebstrap', '--version'], { quiet: true })).exitCode !== 0) {
    console.log(`mmdebstrap is not on this host; without images: ${missing.join(', ')}`);
    return { passed: 0, failed: 0, skipped: 1 };
  }
  const build = ['nice', '-n', '10', process.execPath, 'dist/cli/main.js', 'image', 'build', ...missing];
  const { exitCode, output } = await run(build, { timeoutMs: 10 * MINUTE, quiet: true });
  console.log(`\nimage build\n${output.slice(-MAX_SHOWN_CHARS)}`);
  return verdict(exitCode === 0);
}

async function pythonOnHost() {
  const code = 'import sys; sys.exit(sys.version_info < (3, 9))';
  const found = await run(['python3', '-c', code], { quiet: true });
  if (found.exitCode !== 0) {
    console.log('python3 (3.9 or newer) is not on this host');
    return { passed: 0, failed: 0, skipped: 1 };
  }
  return unittest([
    'env',
    '-C',
    join(ROOT, 'sandbox-runtime'),
    'PYTHONDONTWRITEBYTECODE=1',
    'python3',
    ...UNITTEST,
  ]);
}

/** The container tests for the test user, in a copy of this checkout that is removed afterwards. */
async function containersAsUser() {
  const made = await run(['scripts/test-user'], { quiet: true });
  if (made.exitCode !== 0) throw new Error(made.output);
  const user = made.output.trim().split('\n').at(-1);
  const home = (await run(['getent', 'passwd', user], { quiet: true })).output.split(':')[5];
  const copy = join(home, 'checkout');
  // Of its own: those who look for folders that were left behind go on beside it. And short: rootless podman keeps its containers'
  // state below it, and refuses to tidy up after a container where that path is longer than 50 characters.
  const temporary = mkdtempSync('/tmp/u-');
  const as = [
    ...['runuser', '-u', user, '--', 'env', '-i', `HOME=${home}`, `USER=${user}`, `LOGNAME=${user}`],
    ...['LANG=C.UTF-8', 'CI=true', `TMPDIR=${temporary}`, `${MARK}=${process.env[MARK]}`],
    `PATH=${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin`,
  ];
  rmSync(copy, { recursive: true, force: true });
  try {
    await copyCheckout(copy);
    await run(['chown', '-R', `${user}:`, copy, temporary], { quiet: true });
    await shareImage(as);
    return await vitest('containers', {
      timeoutMs: 15 * MINUTE,
      cwd: copy,
      report: join(copy, 'report.json'),
      as,
      flags: [...WAITING, ...ONCE].flatMap((pattern) => ['--exclude', pattern]),
    });
  } finally {
    for (const folder of [copy, temporary]) rmSync(folder, { recursive: true, force: true });
  }
}

/** What the suite has time for of the container tests, against an engine that runs elsewhere; `npm run test:remote` has all. */
async function containersElsewhere(kind) {
  const why = whyNoRemoteEngine(kind);
  if (why !== undefined) {
    console.log(`no ${kind}: ${why}`);
    return { passed: 0, failed: 0, skipped: 1 };
  }
  const report = join(scratch, `${kind}.json`);
  const { args, environment } = suiteOn(kind, SHORT[kind], { report, isShort: true });
  const argv = Object.entries(environment).map((pair) => pair.join('='));
  const vitestMain = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const { exitCode } = await run(['env', ...argv, process.execPath, vitestMain, 'run', ...args], {
    timeoutMs: 8 * MINUTE,
  });
  return countsOf(report, exitCode);
}

async function copyCheckout(copy) {
  mkdirSync(copy, { recursive: true });
  const listed = await run(['git', 'ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    quiet: true,
  });
  if (listed.exitCode !== 0) throw new Error(`git ls-files: ${listed.output}`);
  for (const file of [...listed.output.split('\0').filter(Boolean), 'node_modules', 'dist']) {
    cpSync(file, join(copy, file), { recursive: true, verbatimSymlinks: true });
  }
}

/** Gives the user root's images, which is quicker than building again. */
async function shareImage(as) {
  const ids = [
    'images',
    '--no-trunc',
    '--format',
    '{{.Repository}}:{{.Tag}} {{.ID}}',
    '--filter',
    `reference=${OWN_IMAGES}/*`,
  ];
  const [mine, theirs] = [
    await run(['podman', ...ids], { quiet: true }),
    await run([...as, 'podman', ...ids], { quiet: true, cwd: '/' }),
  ];
  const missing = mine.output
    .split('\n')
    .filter((line) => line.startsWith(OWN_IMAGES) && !ROOTS_OWN.test(line) && !theirs.output.includes(line));
  for (const [name] of missing.map((line) => line.split(' '))) {
    const archive = join(scratch, 'image.tar');
    await run(['podman', 'save', '--quiet', '--output', archive, name], { quiet: true });
    await run(['chmod', '-R', 'a+rX', scratch], { quiet: true });
    const loaded = await run([...as, 'podman', 'load', '--quiet', '--input', archive], {
      quiet: true,
      cwd: '/',
    });
    rmSync(archive, { force: true });
    if (loaded.exitCode !== 0)
      throw new Error(`the image could not be given to the test user: ${loaded.output}`);
  }
}

/** One assertion each: containers of ours, processes that a part started, temporary folders of ours. */
async function nothingLeft() {
  const user = isRoot
    ? (await run(['scripts/test-user'], { quiet: true })).output.trim().split('\n').at(-1)
    : undefined;
  const found = {
    containers: [
      ...(await containersOf([])),
      ...(user ? await containersOf(['runuser', '-u', user, '--']) : []),
    ],
    processes: processesOf(process.env[MARK]),
    'temporary folders': listTemporary().filter((name) => !temporaryBefore.includes(name)),
  };
  const verdicts = Object.entries(found).map(([what, left]) => {
    console.log(
      `  ${left.length === 0 ? pc.green('none') : pc.red(left.length)}  ${what}${left.map((line) => `\n        ${line}`).join('')}`,
    );
    return verdict(left.length === 0);
  });
  return verdicts.reduce((sum, each) => ({
    passed: sum.passed + each.passed,
    failed: sum.failed + each.failed,
    skipped: 0,
  }));
}

function report() {
  const width = Math.max(...parts.map(({ name }) => name.length));
  const column = (value) => String(value).padStart(9);
  console.log(
    pc.bold(`\n${'part'.padEnd(width)}${['passed', 'failed', 'skipped', 'seconds'].map(column).join('')}`),
  );
  for (const { name, passed, failed, skipped, seconds } of parts) {
    const row = `${name.padEnd(width)}${[passed, failed, skipped, seconds.toFixed(1)].map(column).join('')}`;
    console.log(failed > 0 ? pc.red(row) : row);
  }
  for (const { name: part, failures = [] } of parts) {
    for (const [name, message] of failures)
      console.log(`${pc.red(`\nfailed in ${part}: ${name}`)}\n${message.slice(0, MAX_SHOWN_FAILURE_CHARS)}`);
  }
  const total = (key) => parts.reduce((sum, each) => sum + each[key], 0);
  console.log(`\n${total('passed')} passed, ${total('failed')} failed, ${total('skipped')} skipped`);
  process.exitCode = total('failed') > 0 ? 1 : 0;
}

async function check() {
  const argv = ['npm', 'run', '--silent', 'check'];
  return verdict((await run(argv, { timeoutMs: 6 * MINUTE, niceness: NICENESS })).exitCode === 0);
}

async function elsewhere() {
  for (const kind of REMOTE_KINDS)
    await part(`an engine elsewhere, ${kind}`, () => containersElsewhere(kind));
}

/**
 * Containers one part after the other: what gives way to Python's tests first, beginning with what needs none of the further
 * images, and at last what is timed.
 */
async function containers() {
  await part('containers, two at once', () =>
    vitest('containers', {
      timeoutMs: 8 * MINUTE,
      // Python's tests have waits of some seconds, which these are not to lengthen.
      niceness: NICENESS,
      report: join(scratch, 'paired.json'),
      flags: [...PAIRED, ...TWO_AT_ONCE],
    }),
  );
  await images;
  await part('containers, untimed', () =>
    vitest('containers', {
      timeoutMs: 8 * MINUTE,
      niceness: NICENESS,
      report: join(scratch, 'untimed.json'),
      flags: UNTIMED,
    }),
  );
  await part(`containers as ${isRoot ? 'root' : 'this user'}`, () =>
    vitest('containers', {
      timeoutMs: 22 * MINUTE,
      // `npm run test:remote` has those of the engines that stand for other machines.
      flags: [...WAITING, ...UNTIMED, ...PAIRED, ...OWN].flatMap((pattern) => ['--exclude', pattern]),
    }),
  );
}

/** Python's are single processes that mostly wait for each other, so that both run side by side; then what gives way. */
async function others() {
  await Promise.all([part('python on the host', pythonOnHost), part('python in the image', pythonInImage)]);
  await part('check', check);
  await part('programs', () => vitest('programs', { timeoutMs: 14 * MINUTE, niceness: NICENESS }));
}

// Unit tests use two processors by themselves. Containers are mostly waited for, which leaves the processors to Python's
// tests, to the checks and to the tests of programs; the last two give way, since they have no deadline that is short. A
// user's engine and one that runs elsewhere have nothing in common.
const images = part('further images', furtherImages);
await Promise.all([
  part('unit', () => vitest('unit', { timeoutMs: 10 * MINUTE, as: FUZZ })),
  part('what only waits', () =>
    vitest('containers', { timeoutMs: 3 * MINUTE, report: join(scratch, 'waiting.json'), flags: WAITING }),
  ),
]);
await Promise.all([containers(), others()]);
if (isRoot) await Promise.all([part('containers as an ordinary user', containersAsUser), elsewhere()]);
rmSync(scratch, { recursive: true, force: true });
await part('nothing left', nothingLeft);
report();
