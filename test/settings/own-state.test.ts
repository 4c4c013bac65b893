import { chmodSync, chownSync, mkdirSync, readFileSync, realpathSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  exchangeableState,
  OWN_NAMES,
  stateOpenToOthers,
} from '../../src/settings/environment/setting-paths.js';
import { stateDirRemedy } from '../../src/settings/files/state-dir.js';
import { tempHome } from '../support/start-bridge.js';

const uid = process.getuid?.() ?? 0;
const SAID = new Set(['MCP_BRIDGE_STATE_DIR'] as const);

const home = () => realpathSync(tempHome());

function folder(path: string, mode = 0o700): string {
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
  return path;
}

const problemsOf = (stateDir: string, explicitlySet: typeof SAID = SAID) =>
  stateOpenToOthers({ stateDir, explicitlySet }, { uid });

it.each([
  ['ENOSPC', /^Free some space on that disk, or set MCP_BRIDGE_STATE_DIR /],
  ['EDQUOT', /^Free some space on that disk, or set MCP_BRIDGE_STATE_DIR /],
  ['EACCES', /^Set MCP_BRIDGE_STATE_DIR to a folder that you own\.$/],
  [undefined, /^Set MCP_BRIDGE_STATE_DIR to a folder that you own\.$/],
])('what mends a state directory goes by what the system said: %s', (code, remedy) => {
  expect(stateDirRemedy(Object.assign(new Error('no'), { code }))).toMatch(remedy);
});

describe('a state directory that others could exchange', () => {
  it('is named with the folder, its mode and the next step', () => {
    const above = folder(join(home(), 'a b'), 0o777);
    const stateDir = folder(join(above, 'state'));
    expect(problemsOf(stateDir)).toEqual([
      {
        setting: 'MCP_BRIDGE_STATE_DIR',
        message: `MCP_BRIDGE_STATE_DIR is '${stateDir}', and '${above}' can be written by other users (mode 0777): others could replace what the bridge runs from there; allowed: a folder that, like all folders above it, only this user and root can write to.`,
        remedy: `Look at what others may have put there, then run: chmod go-w '${above}'; or set MCP_BRIDGE_STATE_DIR to a folder of your own. Then restart the host.`,
      },
    ]);
    expect(problemsOf(stateDir, new Set())[0]?.message).toMatch(/^The state directory is '/);
    chmodSync(above, 0o755);
    expect(problemsOf(stateDir)).toEqual([]);
  });

  it('is made for this user alone where others could be first', () => {
    const shared = folder(join(home(), 'tmp'), 0o1777);
    const stateDir = join(shared, 'a', 'state');
    expect(exchangeableState(stateDir, uid)?.is).toBe('absent');
    expect(problemsOf(stateDir)).toEqual([]);
    expect(statSync(join(shared, 'a')).mode & 0o777).toBe(0o700);
    expect(exchangeableState(stateDir, uid)).toBeUndefined();
  });

  it('is not made where only this user could make it', () => {
    const stateDir = join(home(), 'state');
    expect(problemsOf(stateDir)).toEqual([]);
    expect(statSync(stateDir, { throwIfNoEntry: false })).toBeUndefined();
  });

  it.each(OWN_NAMES)('is one in which %s is open, or leads to where it is', (name) => {
    const stateDir = folder(join(home(), 'state'));
    expect(problemsOf(folder(join(stateDir, name), 0o777) && stateDir)[0]?.message).toContain(
      `'${join(stateDir, name)}' can be written by other users (mode 0777)`,
    );
    chmodSync(join(stateDir, name), 0o700);
    expect(problemsOf(stateDir)).toEqual([]);
    const other = folder(join(home(), 'state'));
    const open = folder(join(home(), 'open'), 0o777);
    symlinkSync(folder(join(open, 'x')), join(other, name));
    expect(problemsOf(other)[0]?.message).toContain(`'${open}' can be written`);
  });

  it.runIf(uid === 0)("is one in which somebody else's things lie, whatever leads to it", () => {
    const stateDir = folder(join(home(), 'state'));
    const kept = folder(join(stateDir, 'ipc'));
    chownSync(kept, 65_533, 65_533);
    const [inside] = problemsOf(stateDir);
    expect(inside?.message).toContain(`'${kept}' belongs to user 65533`);
    expect(inside?.remedy).toMatch(/^Look at who has put it there, and remove it; or set /);
    chownSync(kept, 0, 0);
    expect(problemsOf(stateDir)).toEqual([]);
    chownSync(stateDir, 65_533, 65_533);
    expect(problemsOf(stateDir)[0]?.remedy).toMatch(
      /^If you are user 65533, start the bridge as that user; or /,
    );
  });

  it('may have other things in it that others may write', () => {
    const stateDir = folder(join(home(), 'MCPs'));
    folder(join(stateDir, 'a-project'), 0o777);
    folder(join(stateDir, 'snippets'), 0o777);
    expect(problemsOf(stateDir)).toEqual([]);
  });
});

it('knows all that the documents say of the state directory', () => {
  const text = readFileSync(new URL('../../docs/uninstall-and-files.md', import.meta.url), 'utf8');
  const table = text.slice(
    text.indexOf('| in the state directory |'),
    text.indexOf('The scripts of a checkout'),
  );
  const names = [...table.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`/]+)[^`]*`/g)].map(([, name]) => name),
  );
  expect(new Set(names)).toEqual(new Set(OWN_NAMES));
});
