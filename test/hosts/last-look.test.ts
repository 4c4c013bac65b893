// A look at hosts' files counts for as long as nothing that it went by has changed: whatever changes, the next look is as true as
// that of a command that looks once.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Discovery, LastGoodFiles } from '../../src/hosts/discovery/discover.js';
import { SETTLED_AFTER_MS } from '../../src/settings/files/config-file.js';
import { until } from '../support/time.js';
import { Home } from './home.js';

const server = (name: string) => JSON.stringify({ mcpServers: { [name]: { command: `srv-${name}` } } });
const yaml = (name: string) => `mcpServers:\n  - name: ${name}\n    command: srv-${name}\n`;
const settings = (file: string, name: string) => writeFileSync(file, server(name));

/** Every folder above a home is looked at, and where other tests have theirs, one comes or goes all the time. */
const quiet = mkdtempSync('/var/tmp/last-look-test-');
afterAll(() => rmSync(quiet, { recursive: true }));

let home: Home;
let at: (path: string) => string;
beforeEach(() => {
  home = new Home(quiet);
  onTestFinished(() => home[Symbol.dispose]());
  home.lastGood = new LastGoodFiles();
  // Beside the home, so that the folder of a link is none of those that are looked at anyway.
  const aside = home.write('aside/deep/.gemini/settings.json', server('linked'));
  at = (path) => join(home.path, path);
  home.write('.cursor/mcp.json', server('cursor'));
  home.write('.env', 'TOKEN=one\n');
  const env = { command: 'srv-code', envFile: at('.env') };
  home.write('.config/Code/User/mcp.json', JSON.stringify({ servers: { code: env } }));
  symlinkSync(join(aside, '../..', '.gemini'), at('.gemini'));
  home.write('.continue/mcpServers/one.yaml', yaml('one'));
  writeFileSync(at('aside/other.js'), '');
  symlinkSync('other.js', at('aside/tool.js'));
  home.write(
    '.copilot/mcp-config.json',
    JSON.stringify({ mcpServers: { tool: { command: 'node', args: [at('aside/tool.js')] } } }),
  );
  // To nothing yet.
  symlinkSync(at('aside/none'), at('.lmstudio'));
  symlinkSync(at('aside/none.json'), at('.kiro'));
});

/** As one who looks once sees it. */
function seenAnew() {
  const { lastGood } = home;
  home.lastGood = undefined;
  const found = home.discover();
  home.lastGood = lastGood;
  return found;
}

/** Until the look before counts, which it does not while a change is a moment ago. */
async function kept(): Promise<void> {
  await until(() => Object.is(home.discover(), home.discover()));
}

it('a look counts again where nothing has changed, and says what a new one says', async () => {
  await kept();
  const found = home.discover();
  expect(home.discover()).toBe(found);
  expect(found).toEqual(seenAnew());
  expect(found.ready.map(({ name }) => name).sort()).toEqual(['code', 'cursor', 'linked', 'one', 'tool']);
});

const isMissing = ({ problems }: Discovery) => problems.some(({ message }) => message.includes('is missing'));

/** Until a change of the file is no longer a moment ago. */
async function settled(file: string): Promise<void> {
  await until(() => Date.now() - statSync(at(file)).ctimeMs > SETTLED_AFTER_MS);
}

const moved = (from: string, to: string) => renameSync(at(from), at(to));

it.each<[string, () => void]>([
  ['a file is written', () => settings(at('.cursor/mcp.json'), 'second')],
  ['a file is written with as many bytes', () => settings(at('.cursor/mcp.json'), 'rosruc')],
  [
    'a file is replaced by another one',
    () => {
      settings(at('.cursor/new.json'), 'second');
      moved('.cursor/new.json', '.cursor/mcp.json');
    },
  ],
  ['a file goes with its folder', () => rmSync(at('.cursor'), { recursive: true })],
  ['a file that an entry names is written', () => writeFileSync(at('.env'), 'TOKEN=two\n')],
  ['a file that an entry names goes', () => unlinkSync(at('.env'))],
  [
    'a file comes into a folder whose files are all read',
    () => writeFileSync(at('.continue/mcpServers/two.yaml'), yaml('two')),
  ],
  [
    'what an entry starts has become this bridge',
    () => {
      unlinkSync(at('aside/tool.js'));
      symlinkSync(fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url)), at('aside/tool.js'));
    },
  ],
  ['a file gets rights for others', () => chmodSync(at('.cursor/mcp.json'), 0o666)],
  ['a file comes into a folder that is there', () => settings(at('project/.mcp.json'), 'project')],
  ['a file comes in its folder', () => home.write('.codeium/windsurf/mcp_config.json', server('second'))],
  [
    'a file comes three folders below one that is there',
    () =>
      home.write(
        '.config/VSCodium/User/mcp.json',
        JSON.stringify({ servers: { second: { command: 'srv' } } }),
      ),
  ],
  [
    'a whole branch is moved to its place',
    () => {
      home.write('aside/branch/User/mcp.json', JSON.stringify({ servers: { second: { command: 'srv' } } }));
      moved('aside/branch', '.config/VSCodium');
    },
  ],
  ['what a link leads to is written', () => settings(at('aside/deep/.gemini/settings.json'), 'second')],
  [
    'a link leads elsewhere',
    () => {
      home.write('aside/other/settings.json', server('other'));
      unlinkSync(at('.gemini'));
      symlinkSync(at('aside/other'), at('.gemini'));
    },
  ],
  ['what a link leads to goes', () => rmSync(at('aside/deep'), { recursive: true })],
  ['a link that led to nothing leads to a folder', () => home.write('aside/none/mcp.json', server('none'))],
  [
    'the folder above is another one',
    () => {
      moved('.cursor', 'aside/cursor');
      home.write('.cursor/mcp.json', server('second'));
    },
  ],
  [
    'a folder becomes a file',
    () => {
      rmSync(at('.config'), { recursive: true });
      writeFileSync(at('.config'), '');
    },
  ],
  [
    'a checkout begins above',
    () => {
      settings(at('.mcp.json'), 'above');
      mkdirSync(at('.git'));
    },
  ],
  ['a file is emptied', () => writeFileSync(at('.cursor/mcp.json'), '{}')],
])('the next look sees that %s', async (_what, change) => {
  await kept();
  change();
  // What a file said that went a moment ago is kept for as long as another one may take its place.
  await until(() => !isMissing(home.discover()));
  for (const _again of ['second', 'third']) expect(home.discover()).toEqual(seenAnew());
});

it('of two changes within one tick of the clock, the second is seen too', async () => {
  await kept();
  for (const name of ['second', 'thirdd', 'fourth', 'fifthh']) {
    settings(at('.cursor/mcp.json'), name);
    expect(home.discover().ready.map((spec) => spec.name)).toContain(name);
  }
});

it('the next look sees that a project is reached by another path, though it is the same folder', async () => {
  const real = at('aside/before/project');
  mkdirSync(real, { recursive: true });
  rmSync(at('project'), { recursive: true });
  symlinkSync(at('aside/link/project'), at('project'));
  symlinkSync('before', at('aside/link'));
  home.write('project/.codex/config.toml', '[mcp_servers.codex]\ncommand = "srv-codex"\n');
  home.write('.codex/config.toml', `[projects."${real}"]\ntrust_level = "trusted"\n`);
  await kept();
  expect(home.discover().ready.map(({ name }) => name)).toContain('codex');
  const { ino, ctimeMs } = statSync(at('project'));
  moved('aside/before', 'aside/after');
  unlinkSync(at('aside/link'));
  symlinkSync('after', at('aside/link'));
  expect(statSync(at('project'))).toMatchObject({ ino, ctimeMs });
  expect(home.discover()).toEqual(seenAnew());
  expect(home.discover().ready.map(({ name }) => name)).not.toContain('codex');
});

it('what only the newest look went by counts from the look after it on', async () => {
  home.write('.env.other', 'TOKEN=three\n');
  await kept();
  const env = { command: 'srv-code', envFile: at('.env.other') };
  home.write('.config/Code/User/mcp.json', JSON.stringify({ servers: { code: env } }));
  await settled('.config/Code/User/mcp.json');
  home.discover();
  writeFileSync(at('.env.other'), 'TOKEN=four\n');
  expect(home.discover()).toEqual(seenAnew());
});

it('a look with a problem is made anew each time, since it may pass by itself', async () => {
  home.write('.cursor/mcp.json', '{');
  const first = home.discover();
  expect(first.problems).toHaveLength(1);
  await settled('.cursor/mcp.json');
  home.discover();
  expect(home.discover()).not.toBe(home.discover());
});
