// Container tests for an ordinary user, where the suite runs as root: rootless podman, in a copy of this checkout that is removed
// afterwards, with root's images.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { COLD_SANDBOX, NODE_START } from './machine-units.mjs';
import { MARK, run } from './processes.mjs';
import { verdict } from './results.mjs';
import { vitest } from './vitest.mjs';

const OWN_IMAGES = 'localhost/mcp-sandbox-bridge';
/** The user's tests of commands do with the base image. */
const ROOTS_OWN = /\/code-exec:/;

/** The name of the user, who is made where there is none. */
export async function testUser() {
  const made = await run(['scripts/test-user'], { quiet: true });
  if (made.exitCode !== 0) throw new Error(made.output);
  return made.output.trim().split('\n').at(-1);
}

/** Begins a command as the test user: podman starts no session bus that nobody ends (as in place.ts of the engine). */
export const asUser = (user) => ['runuser', '-u', user, '--', 'env', 'DBUS_SESSION_BUS_ADDRESS=disabled:'];

/** The results of what `selection` says, as in vitest.mjs. */
export async function asTestUser(context, selection) {
  const user = await testUser();
  const home = (await run(['getent', 'passwd', user], { quiet: true })).output.split(':')[5];
  const copy = join(home, 'checkout');
  // The user's own, and with a short name, as in main.mjs.
  const temporary = mkdtempSync('/tmp/u-');
  const passedOn = [MARK, NODE_START, COLD_SANDBOX].filter((name) => process.env[name] !== undefined);
  const as = [
    ...[...asUser(user), 'env', '-i', `HOME=${home}`, `USER=${user}`, `LOGNAME=${user}`],
    ...['LANG=C.UTF-8', 'CI=true', `TMPDIR=${temporary}`],
    ...passedOn.map((name) => `${name}=${process.env[name]}`),
    `PATH=${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin`,
  ];
  rmSync(copy, { recursive: true, force: true });
  try {
    await copyCheckout(copy);
    await run(['chown', '-R', `${user}:`, copy, temporary], { quiet: true });
    await shareImages(as, context.scratch);
    return await vitest(context, 'containers', { ...selection, cwd: copy, as });
  } catch (thrown) {
    return verdict(false, thrown.message);
  } finally {
    for (const folder of [copy, temporary]) rmSync(folder, { recursive: true, force: true });
  }
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
async function shareImages(as, scratch) {
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
