// isolator's file: what of it holds here, what is said of the rest, and what stops the start.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/base/errors.js';
import { isolatorTable, readIsolatorFile } from '../../../src/settings/languages/isolator-file.js';
import { Home } from '../../hosts/home.js';

let home: Home;
let file: string;
beforeEach(() => {
  home = new Home();
  file = join(home.path, 'isolator_config.json');
});
afterEach(() => home[Symbol.dispose]());

const NOTHING_SET = { explicitlySet: new Set<string>(), maxTimeoutSeconds: 120 };

function read(content: unknown, deciding = NOTHING_SET) {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
  return readIsolatorFile(file, deciding, home.facts);
}
function errorOf(act: () => unknown): BridgeError {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof BridgeError) return thrown;
    throw thrown;
  }
  throw new Error('the file was accepted');
}
const complaintOf = (content: unknown): string =>
  errorOf(() => read(content)).message.replaceAll(`MCP_BRIDGE_ISOLATOR_CONFIG: ${file}: `, '');

const WHOLE = {
  isolatorPath: '/Users/ann/isolator-mcp/isolator-cli/isolator',
  defaultTimeoutSeconds: 60,
  defaultMemoryMB: 256,
  defaultCpus: 0.5,
  defaultPidsLimit: 100,
  defaultNetworkMode: 'none',
  defaultCapDrop: ['ALL'],
  defaultReadOnlyRootfs: true,
  defaultContainerWorkdir: '/workspace',
  languageSettings: {
    python: { image: 'python:3.11-alpine' },
    go: { image: 'golang:1.21-alpine' },
    javascript: { image: 'node:20-alpine' },
  },
  promptsDir: './prompts',
};

describe('what it says', () => {
  it('all keys that isolator has, of which one has no effect', () => {
    expect(read(WHOLE)).toEqual({
      source: "isolator's file",
      file,
      timeoutSeconds: 60,
      memoryBytes: 256 * 1024 ** 2,
      cpus: 0.5,
      pids: 100,
      network: 'none',
      workdir: '/workspace',
      images: new Map([
        ['python', 'python:3.11-alpine'],
        ['go', 'golang:1.21-alpine'],
        ['javascript', 'node:20-alpine'],
      ]),
      snippetsDir: join(home.path, 'prompts'),
      warnings: ['isolatorPath has no effect: the bridge does not start isolator.'],
    });
    expect(
      isolatorTable()
        .map(({ key }) => key)
        .sort(),
    ).toEqual(Object.keys(WHOLE).sort());
  });

  it('takes nothing from a file that says nothing', () => {
    const { source, images, warnings, ...rest } = read({});
    expect([source, images.size, warnings]).toEqual(["isolator's file", 0, []]);
    expect(new Set(Object.values(rest))).toEqual(new Set([file, undefined]));
  });

  it('is read with comments and a comma too many', () => {
    const { pids } = read(
      '{\n  // more than isolator’s own\n  "defaultPidsLimit": 200, /* threads too */\n}',
    );
    expect(pids).toBe(200);
  });

  it.each([
    ['prompts', 'prompts'],
    ['../shared', '../shared'],
    ['~/snippets', 'snippets'],
  ])('looks for snippets in %s, seen from the file', (promptsDir, expected) => {
    expect(read({ promptsDir }).snippetsDir).toBe(join(home.path, expected));
    expect(read({ promptsDir: '/srv/snippets' }).snippetsDir).toBe('/srv/snippets');
  });

  it('nothing of snippets: those in prompts beside it, where there is such a folder', () => {
    expect(read({}).snippetsDir).toBeUndefined();
    mkdirSync(join(home.path, 'prompts'));
    expect(read({}).snippetsDir).toBe(join(home.path, 'prompts'));
    expect(read({ promptsDir: 'others' }).snippetsDir).toBe(join(home.path, 'others'));
  });

  it('languages by any of their names', () => {
    const { images } = read({ languageSettings: { JS: { image: 'node:24' }, golang: { image: 'go:1' } } });
    expect(images).toEqual(
      new Map([
        ['javascript', 'node:24'],
        ['go', 'go:1'],
      ]),
    );
  });

  it('a working directory with a slash at its end', () => {
    expect(read({ defaultContainerWorkdir: '/usr/src/app/' }).workdir).toBe('/usr/src/app');
  });
});

describe('what it is warned of', () => {
  it.each<[object, string]>([
    [
      { defaultTimeoutSeconds: 600 },
      'defaultTimeoutSeconds is 600, but MCP_BRIDGE_MAX_TIMEOUT is 120: runs get 120.',
    ],
    [
      { defaultNetworkMode: 'bridge' },
      'defaultNetworkMode opens the network for every language; MCP_BRIDGE_NETWORK can name those that need it, or none.',
    ],
    [
      { defaultCapDrop: ['NET_RAW'] },
      'defaultCapDrop is ["NET_RAW"], which has no effect: all capabilities are dropped.',
    ],
    [{ defaultCapDrop: [] }, 'defaultCapDrop is [], which has no effect: all capabilities are dropped.'],
    [
      { defaultReadOnlyRootfs: false },
      'defaultReadOnlyRootfs is false, which has no effect: the root file system is read-only.',
    ],
    [{ defaultMemoryMb: 1 }, "defaultMemoryMb has no effect here. Did you mean 'defaultMemoryMB'?"],
    [
      { languageSettings: { pyhton: { image: 'x' } } },
      "languageSettings.pyhton has no effect. There is no language 'pyhton'. Did you mean 'python'?",
    ],
    [
      { languageSettings: { js: { image: 'x' }, node: { image: 'y' } } },
      'languageSettings.node has no effect: JavaScript is given twice.',
    ],
    [
      { languageSettings: { go: { imag: 'x' } } },
      "languageSettings.go.imag has no effect here. Did you mean 'image'?",
    ],
  ])('%j', (content, expected) => {
    expect(read(content).warnings).toEqual([expected]);
  });

  it('but not of what a variable decides', () => {
    const deciding = { ...NOTHING_SET, explicitlySet: new Set(['MCP_BRIDGE_TIMEOUT', 'MCP_BRIDGE_NETWORK']) };
    const content = { defaultTimeoutSeconds: 600, defaultNetworkMode: 'bridge', defaultCapDrop: ['all'] };
    expect(read(content, deciding).warnings).toEqual([]);
  });
});

describe('what stops the start', () => {
  it.each<[object, string]>([
    [
      { defaultTimeoutSeconds: '60' },
      '\'defaultTimeoutSeconds\' is "60"; allowed: a whole number from 1 to 86400.',
    ],
    [{ defaultTimeoutSeconds: 0 }, "'defaultTimeoutSeconds' is 0; allowed: a whole number from 1 to 86400."],
    [
      { defaultMemoryMB: 16 },
      "'defaultMemoryMB' is 16; allowed: a whole number of megabytes from 32 to 1048576.",
    ],
    [{ defaultCpus: 0 }, "'defaultCpus' is 0; allowed: a number from 0.01 to 4096."],
    [{ defaultPidsLimit: -1 }, "'defaultPidsLimit' is -1; allowed: a whole number from 16 to 32768."],
    [
      { defaultNetworkMode: 'host' },
      "'defaultNetworkMode' is \"host\" (it would give programs the machine's own network); allowed: none, bridge or default.",
    ],
    [
      { defaultNetworkMode: 'container:db' },
      "'defaultNetworkMode' is \"container:db\" (it would give programs another container's network); allowed: none, bridge or default.",
    ],
    [
      { defaultNetworkMode: 'nonee' },
      '\'defaultNetworkMode\' is "nonee" (the bridge joins no network of that name); allowed: none, bridge or default.',
    ],
    [{ defaultCapDrop: 'ALL' }, '\'defaultCapDrop\' is "ALL"; allowed: a list of names.'],
    [{ defaultReadOnlyRootfs: 'yes' }, '\'defaultReadOnlyRootfs\' is "yes"; allowed: true or false.'],
    [
      { defaultContainerWorkdir: '/proc' },
      '\'defaultContainerWorkdir\' is "/proc" (/proc belongs to the kernel); allowed: an absolute path in which nothing of the system lies, such as /workspace or /app.',
    ],
    [
      { languageSettings: { go: { image: '--privileged' } } },
      '\'languageSettings.go.image\' is "--privileged"; allowed: an image reference.',
    ],
    [
      { languageSettings: { go: 'golang' } },
      '\'languageSettings.go\' is "golang"; allowed: a map from languages to {"image": an image reference}.',
    ],
    [{ promptsDir: '' }, '\'promptsDir\' is ""; allowed: a path.'],
    [[], 'the file is []; allowed: an object.'],
  ])('%j', (content, expected) => {
    expect(complaintOf(content)).toBe(expected);
  });

  it('every wrong key is named, with the file and the next step', () => {
    const { code, fault, message, remedy } = errorOf(() => read({ defaultCpus: 'all', defaultPidsLimit: 1 }));
    expect([code, fault]).toEqual(['E_SETTINGS', 'operator']);
    expect(message.split('\n')).toEqual([
      `MCP_BRIDGE_ISOLATOR_CONFIG: ${file}: 'defaultCpus' is "all"; allowed: a number from 0.01 to 4096.`,
      `MCP_BRIDGE_ISOLATOR_CONFIG: ${file}: 'defaultPidsLimit' is 1; allowed: a whole number from 16 to 32768.`,
    ]);
    expect(remedy).toBe(
      'Correct the file, or the variable that names it. Then restart the host: the file is read only at the start.',
    );
  });

  it('text that is no JSON, by its place', () => {
    expect(complaintOf('{\n  "defaultCpus": one\n}')).toBe('line 2, column 18: invalid symbol.');
  });

  it.each([
    ['arrays', '['.repeat(200_000)],
    ['objects', '{"a":'.repeat(200_000)],
  ])('%s in one another without end', (_what, text) => {
    expect(complaintOf(text)).toMatch(/^(cannot be read|line \d)/);
  });

  it('a file that is not there, and one that others can write', () => {
    const missing = errorOf(() => readIsolatorFile(file, NOTHING_SET, home.facts));
    expect(missing.message).toBe(`MCP_BRIDGE_ISOLATOR_CONFIG: ${file}: does not exist.`);
    const open = () => {
      writeFileSync(file, '{}');
      chmodSync(file, 0o666);
      return readIsolatorFile(file, NOTHING_SET, home.facts);
    };
    expect(errorOf(open).message).toContain(`run: chmod go-w '${file}'`);
  });
});
