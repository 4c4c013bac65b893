// Writes the fixture homes of test/fixtures/homes anew, as far as the hosts' own command lines can write them: each is
// installed from npm into .cache/agents/ (or --cache), told to add servers under a temporary home, and what it wrote is
// kept with its version. What was expected of it stays; times, ids and the temporary paths do not. Never touches the
// user's own configuration. Exits with 1 when a command line failed.
// --help says how.

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install, run } from './agents/install.mjs';
import { CLIS } from './fixture-homes/clis.mjs';
import { takeOptions } from './options.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const HOMES = join(ROOT, 'test/fixtures/homes');
const COMMAND_TIMEOUT_MS = 120_000;
const values = takeOptions({
  command: 'node scripts/fixture-homes.mjs',
  about: "Writes the fixture homes anew with the hosts' own command lines, from npm.",
  options: {
    only: { value: 'NAME,NAME', says: 'only these homes', among: Object.keys(CLIS) },
    cache: { value: 'FOLDER', says: 'where the hosts are installed', default: join(ROOT, '.cache/agents') },
  },
});

for (const name of values.only) {
  try {
    await write(name, CLIS[name]);
    console.error(`${name}: written`);
  } catch (thrown) {
    console.error(`${name}: ${thrown.message}`);
    process.exitCode = 1;
  }
}

async function write(name, cli) {
  const [command, ...first] = await install(programId(cli), cli, values.cache);
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'fixture-home-')));
  const place = { home, project: join(home, 'project') };
  try {
    mkdirSync(place.project);
    cli.furnishFirst?.(place);
    const call = (args) =>
      run(command, [...first, ...args.map((arg) => arg.replaceAll('{HOME}', home))], {
        cwd: place.project,
        // Should a server be started after all: npx is to run nothing that it would have to fetch.
        env: { PATH: process.env.PATH, HOME: home, npm_config_offline: 'true', ...cli.env },
        timeout: COMMAND_TIMEOUT_MS,
      });
    for (const args of cli.commands) await call(args);
    cli.furnish?.(place);
    if (cli.check !== undefined) await call(cli.check);
    keep(name, cli, place);
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** Of one package for several fixtures there is one installation, shared with test-agents where that has one. */
function programId(cli) {
  return Object.entries(CLIS).find(([, other]) => other.package === cli.package)[0];
}

function keep(name, { title, version, files }, { home, project }) {
  const folder = join(HOMES, name);
  mkdirSync(folder, { recursive: true });
  const wrote = [];
  for (const [at, file] of Object.entries(files)) {
    const from = at.startsWith('~/') ? join(home, at.slice(2)) : join(project, at.slice(2));
    if (!existsSync(from)) throw new Error(`it has not written ${at}`);
    cpSync(from, join(folder, file));
    writeFileSync(join(folder, file), normaliseText(readFileSync(from, 'utf8'), home, project));
    wrote.push({ file, at });
  }
  const manifest = join(folder, 'fixture.json');
  const before = existsSync(manifest)
    ? JSON.parse(readFileSync(manifest, 'utf8'))
    : { env: {}, expected: [] };
  const places = new Map((before.files ?? []).map((entry) => [entry.file, entry.at]));
  const next = {
    ...before,
    host: before.host ?? title,
    made: `by ${title} ${version}`,
    files: wrote.map(({ file, at }) => ({ file, at: places.get(file) ?? at })),
  };
  writeFileSync(manifest, `${JSON.stringify(next, undefined, 2)}\n`);
}

function normaliseText(text, home, project) {
  return text
    .replaceAll(`"${project}"`, '"{PROJECT/}"')
    .replaceAll(project, '{PROJECT}')
    .replaceAll(home, '{HOME}')
    .replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"2026-01-01T00:00:00.000Z"')
    .replace(/"[0-9a-f]{64}"/g, `"${'0'.repeat(64)}"`)
    .trimEnd()
    .concat('\n');
}
