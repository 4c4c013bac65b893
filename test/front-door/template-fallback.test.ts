// What stands in the way of a template, at its making or later: the engine's client starts the sandbox of that very call, and the log
// says why. The OCI runtime of these bridges is the engine's own behind a script, which spoils what only a template has done.

import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { engineCommand } from '../support/engine-under-test.js';
import { isOfTemplate, ourListed } from '../support/nothing-left.js';
import { type TestBridge, tempHome } from '../support/start-bridge.js';
import { eventually, until } from '../support/time.js';
import { isFromTemplate, TemplateBridges } from './from-template.js';

const bridges = new TemplateBridges();
afterEach(() => bridges[Symbol.asyncDispose]());

/** The engine's own OCI runtime, which does `spoil` (a shell's words) before it starts a sandbox from a template. */
function spoiledRuntime(spoil: string): string {
  const runtime = join(tempHome(), 'runc');
  const own = engineCommand('info', '--format={{.Host.OCIRuntime.Path}}').trim();
  // The engine creates and starts; only the bridge runs.
  writeFileSync(
    runtime,
    `#!/bin/sh\ncase " $* " in *" run --detach "*)\n${spoil}\n;; esac\nexec ${own} "$@"\n`,
  );
  chmodSync(runtime, 0o755);
  return runtime;
}

const saysByClient = (bridge: TestBridge): string[] =>
  bridge
    .stderr()
    .split('\n')
    .filter((line) => line.includes("sandboxes are started by the engine's client"));

const expectAnswers = async (bridge: TestBridge): Promise<void> =>
  expect(await bridge.run('6 * 7')).toMatchObject({ status: 'success', result: 42 });

describe('a template that does not do is not used, and the log says so once', () => {
  it.each([
    ['does not start', 'echo "no such luck" >&2; exit 1', /no such luck/],
    [
      'has a wall less than the template',
      `sed -i 's/"noNewPrivileges":true/"noNewPrivileges":false/' "$(echo "$*" | sed 's/.*--bundle \\([^ ]*\\).*/\\1/')/config.json"`,
      /differs: ids, capabilities and seccomp/,
    ],
    ['says nothing', 'exit 0', /did not greet|has ended/],
  ])('where a sandbox from it %s', async (_, spoil, why) => {
    const bridge = await bridges.start({ MCP_BRIDGE_OCI_RUNTIME: spoiledRuntime(spoil) });
    await expectAnswers(bridge);
    await expectAnswers(bridge);
    expect(await eventually(() => saysByClient(bridge).length === 1)).toBe(true);
    expect(saysByClient(bridge)[0]).toMatch(why);
    expect(await eventually(() => ourListed().every((name) => !isOfTemplate(name)))).toBe(true);
    expect(await isFromTemplate(bridge)).toBe(false);
    expect(saysByClient(bridge)).toHaveLength(1);
  });
});

describe('a call while a template is in use is answered by the way of the engine', () => {
  it('where the OCI runtime starts nothing from it any more, in that very call', async () => {
    const mark = join(tempHome(), 'broken');
    const runtime = spoiledRuntime(`[ ! -e ${mark} ] || { echo "broken meanwhile" >&2; exit 1; }`);
    const bridge = await bridges.start({ MCP_BRIDGE_OCI_RUNTIME: runtime });
    await until(() => isFromTemplate(bridge), bridge.stderr());
    writeFileSync(mark, '');
    expect(await isFromTemplate(bridge)).toBe(false);
    expect(bridge.stderr()).toContain('a sandbox did not start from it');
    await expectAnswers(bridge);
    expect(await eventually(() => saysByClient(bridge).length === 1)).toBe(true);
    expect(saysByClient(bridge)[0]).toContain('broken meanwhile');
    rmSync(mark);
  });

  it('where an image was tagged anew, and then from a new template', async () => {
    const bridge = await bridges.start();
    await until(() => isFromTemplate(bridge), bridge.stderr());
    const [before = ''] = ourListed().filter(isOfTemplate);
    const image = engineCommand('inspect', '--format={{.ImageName}}', before).trim();
    const moved = 'localhost/mcp-sandbox-bridge-test:moved-below-template';
    engineCommand('tag', image, moved);
    try {
      expect(await isFromTemplate(bridge)).toBe(false);
      expect(await eventually(() => isFromTemplate(bridge))).toBe(true);
      expect(ourListed().filter(isOfTemplate)).not.toContain(before);
    } finally {
      engineCommand('untag', image, moved);
    }
  });

  it('where the root of the template is gone', async () => {
    const bridge = await bridges.start();
    await until(() => isFromTemplate(bridge), bridge.stderr());
    const [template = ''] = ourListed().filter(isOfTemplate);
    const root = engineCommand('inspect', '--format={{.GraphDriver.Data.MergedDir}}', template).trim();
    execFileSync(...unmounting(root));
    await expectAnswers(bridge);
    expect(bridge.stderr()).toContain('a sandbox did not start from it');
    expect(await eventually(() => isFromTemplate(bridge))).toBe(true);
  });
});

/** An ordinary user's mounts are where the engine works. */
const unmounting = (root: string): [string, string[]] =>
  process.getuid?.() === 0 ? ['umount', ['--lazy', root]] : ['podman', ['unshare', 'umount', '--lazy', root]];
