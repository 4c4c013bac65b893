// Files of hosts that change while they are read and written: by other programs of their user, and by whoever may write the
// folder that they are in.

import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readUserFile, replaceUserFile } from '../../../src/hosts/edit/user-file.js';
import { adopt, restore } from '../../../src/hosts/install/adoption.js';
import type { AdoptPlace } from '../../../src/hosts/install/candidates.js';
import { install, uninstall } from '../../../src/hosts/install/registration.js';
import { parseSettings } from '../../../src/settings/environment/settings.js';
import { Home } from '../../hosts/home.js';

/** What happens right after a file was closed. Modules are loaded anew with it, and once more without it for the files that run afterwards. */
const meanwhile = vi.hoisted((): Array<() => void> => {
  vi.resetModules();
  return [];
});
afterAll(() => void vi.resetModules());
vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>();
  const closeSync = (fd: number) => {
    real.closeSync(fd);
    meanwhile.shift()?.();
  };
  return { ...real, closeSync };
});

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => {
  meanwhile.length = 0;
  home[Symbol.dispose]();
});

const at = (file: string) => join(home.path, file);
const text = (file: string) => fs.readFileSync(at(file), 'utf8');
const CHANGED = /was changed by another program just now/;

function place(): AdoptPlace {
  const env = { HOME: home.path };
  const { settings } = parseSettings({ ...env, MCP_BRIDGE_STATE_DIR: at('state') }, home.facts);
  return { env, host: home.facts, settings, stateDir: at('state'), reaches: () => false };
}

describe('a file that another takes the place of', () => {
  it('after it was looked at counts with the bytes that were looked at', () => {
    const file = home.write('.cursor/mcp.json', '{"mcpServers":{}}');
    const other = home.write('.cursor/other', '{"mcpServers":{"hers":{"command":"evil"}}}');
    fs.chmodSync(other, 0o666);
    meanwhile.push(() => fs.renameSync(other, file));
    const read = readUserFile(file, home.facts);
    expect(read.text).toBe('{"mcpServers":{}}');
    expect(String(read.bytes)).toBe(read.text);
    expect(() => replaceUserFile(read, Buffer.from('{}'))).toThrow(CHANGED);
    expect(text('.cursor/mcp.json')).toContain('evil');
  });

  it('by a link that leads elsewhere now is not written', () => {
    const [one, other] = [home.write('one.json', '{}'), home.write('other.json', '{}')];
    const link = at('.cursor/mcp.json');
    fs.mkdirSync(dirname(link));
    fs.symlinkSync(one, link);
    const read = readUserFile(link, home.facts);
    fs.rmSync(link);
    fs.symlinkSync(other, link);
    expect(() => replaceUserFile(read, Buffer.from('{"x":1}'))).toThrow(CHANGED);
    expect([text('one.json'), text('other.json')]).toEqual(['{}', '{}']);
    // The control: as long as it leads there, it is.
    replaceUserFile(readUserFile(link, home.facts), Buffer.from('{"x":1}'));
    expect([text('one.json'), text('other.json')]).toEqual(['{}', '{"x":1}']);
  });

  it('while it is written has no say in whose mode is set', () => {
    const victim = home.write('victim', 'private');
    fs.chmodSync(victim, 0o600);
    const file = home.write('.cursor/mcp.json', '{}');
    fs.chmodSync(file, 0o644);
    const read = readUserFile(file, home.facts);
    let exchanged = '';
    meanwhile.push(() => {
      const [name = ''] = fs.readdirSync(dirname(file)).filter((each) => each !== basename(file));
      exchanged = name;
      fs.rmSync(join(dirname(file), name));
      fs.symlinkSync(victim, join(dirname(file), name));
    });
    replaceUserFile(read, Buffer.from('{"x":1}'));
    expect(exchanged).toMatch(/^mcp\.json\./);
    expect(fs.statSync(victim).mode & 0o777).toBe(0o600);
  });
});

describe('a server that is changed while adopt looks', () => {
  const servers = (one: object, two: object = { command: 'two' }) =>
    JSON.stringify({ mcpServers: { one, two } }, undefined, 2);

  it.each([
    ['has another command', { command: 'new' }, CHANGED],
    ['is gone', undefined, /has no mcpServers\.one/],
  ])('%s: nothing is moved', (_what, now, words) => {
    const file = home.write('.cursor/mcp.json', servers({ command: 'one' }));
    const before = servers(now as object);
    const edit = () => {
      fs.writeFileSync(file, before);
      return undefined;
    };
    expect(() => adopt('cursor', ['one'], {}, place(), edit)).toThrow(words);
    expect(text('.cursor/mcp.json')).toBe(before);
    expect(fs.existsSync(at('.config/mcp-sandbox-bridge/servers/cursor.json'))).toBe(false);
  });

  it('is moved where another one was changed, which keeps the change', () => {
    const file = home.write('.cursor/mcp.json', servers({ command: 'one' }));
    const edit = () => {
      fs.writeFileSync(file, servers({ command: 'one' }, { command: 'changed' }));
      return undefined;
    };
    expect(adopt('cursor', ['one'], {}, place(), edit).result).toBe('moved');
    expect(text('.cursor/mcp.json')).toContain('changed');
    expect(text('.cursor/mcp.json')).not.toContain('"one"');
    expect(restore('cursor', {}, place()).result).toBe('restored');
    expect(text('.cursor/mcp.json')).toContain('"one"');
  });
});

it('a record of changes that others could have written is as none', () => {
  const before = '{"mcpServers":{"x":{"command":"x"}}}';
  const file = home.write('.cursor/mcp.json', before);
  fs.mkdirSync(at('MCPs'), { mode: 0o700 });
  const earlier = { ...place(), stateDir: at('MCPs') };
  const undone = (mode: number) => {
    install('cursor', {}, earlier);
    fs.chmodSync(at('MCPs'), mode);
    const { files } = uninstall('cursor', {}, place());
    fs.chmodSync(at('MCPs'), 0o700);
    return files.map(({ result }) => result);
  };
  expect(undone(0o777)).toEqual([]);
  fs.rmSync(at('MCPs/host-changes'), { recursive: true });
  fs.writeFileSync(file, before);
  expect(undone(0o755)).toEqual(['restored']);
  expect(text('.cursor/mcp.json')).toBe(before);
});
