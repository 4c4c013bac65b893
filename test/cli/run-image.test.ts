// `run --image`: the image of the command line comes before the one of the environment, and not beside a session of another
// bridge. Asks no engine: one that is not there says which settings were read.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { prepare } from '../../src/cli/serving/prepare.js';
import { tempHome } from '../support/start-bridge.js';
import { commandHere } from './command.js';

const home = tempHome();
afterAll(() => rmSync(home, { recursive: true }));

it('run --image names the image in place of MCP_BRIDGE_IMAGE, and the operator counts as its author', () => {
  const before = process.env['MCP_BRIDGE_IMAGE'];
  process.env['MCP_BRIDGE_IMAGE'] = 'python:3.12';
  try {
    const { settings } = prepare('silent', 'ends', 'data-pip_polars');
    expect(settings.image).toBe('data-pip_polars');
    expect(settings.explicitlySet.has('MCP_BRIDGE_IMAGE')).toBe(true);
    expect(prepare('silent', 'ends').settings.image).toBe('python:3.12');
  } finally {
    if (before === undefined) delete process.env['MCP_BRIDGE_IMAGE'];
    else process.env['MCP_BRIDGE_IMAGE'] = before;
  }
});

it.each(['run', 'repl'])(
  '%s --image refuses what is no name of an image, before anything starts',
  async (word) => {
    writeFileSync(join(home, 'x.py'), '1');
    const file = word === 'run' ? ['x.py'] : [];
    const { stderr, exitCode } = await commandHere([word, ...file, '--image', 'a b'], { home });
    expect(stderr).toContain("MCP_BRIDGE_IMAGE is 'a b'");
    expect(exitCode).not.toBe(0);
  },
);

it('run --image is refused beside --session, whose sandbox is another process’s', async () => {
  const { stderr, exitCode } = await commandHere(['run', 'x.py', '--image', 'data', '--session', 's'], {
    home,
  });
  expect(stderr).toContain('--image is given with --session, whose image is that of the shared bridge.');
  expect(exitCode).toBe(2);
});
