// The plugin, as the real Claude Code validates, installs and starts it; where `npm run test:agents` has fetched that program.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MANIFEST, newcomer } from '../support/installed.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CLAUDE = join(
  ROOT,
  `.cache/agents/claude-code/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
);

const tests = () => {
  it('is valid, and so is its marketplace', async () => {
    using person = await newcomer();
    for (const folder of [ROOT, join(ROOT, 'plugins/claude-code')])
      expect(await person.run(CLAUDE, 'plugin', 'validate', folder)).toContain('Validation passed');
  });

  it('is installed from this repository, connects, and is known by the bridge', async () => {
    using person = await newcomer();
    await person.run(CLAUDE, 'plugin', 'marketplace', 'add', ROOT);
    await person.run(CLAUDE, 'plugin', 'install', `${MANIFEST.name}@${MANIFEST.name}`);
    expect(await person.run(CLAUDE, 'mcp', 'list')).toMatch(/:sandbox: npx .* ✔ Connected/);
    expect(await person.run('npx', '-y', MANIFEST.name, 'servers')).toMatch(/skipped .*this bridge itself/);
  });
};
if (existsSync(CLAUDE)) describe('the plugin of Claude Code', tests);
else
  describe.skip(
    'the plugin of Claude Code (skipped: no Claude Code; `npm run test:agents` fetches it)',
    tests,
  );
