// What npm would publish of this checkout: what a user needs and no more, small, and with nothing left to install.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAX_PACKED_BYTES = 1_500_000;

// The build is there already; `--ignore-scripts` leaves out that npm makes it again.
const packed = z
  .tuple([z.looseObject({ size: z.number(), files: z.array(z.looseObject({ path: z.string() })) })])
  .parse(
    JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
        cwd: ROOT,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ),
  )[0];
const paths = packed.files.map(({ path }) => path);
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

it('is small', () => {
  expect(packed.size).toBeLessThan(MAX_PACKED_BYTES);
});

it('has programs, runtime, recipes, pages and the licences of what is bundled', () => {
  expect(paths).toEqual(
    expect.arrayContaining([
      ...Object.values<string>(manifest.bin),
      'dist/bundle/LICENSES.txt',
      'sandbox-runtime/harness/supervisor.py',
      'sandbox-runtime/mcp/runtime.py',
      'sandbox-runtime/images/base.json',
      'sandbox-runtime/seccomp/strict.json',
      'README.md',
      'LICENSE',
    ]),
  );
});

it('has no source maps, no tests, no sources and no compiled Python', () => {
  expect(
    paths.filter((path) => /\.map$|\.ts$|(?:^|\/)tests?\/|\.pyc$|^(?:src|scripts)\//.test(path)),
  ).toEqual([]);
  expect(
    paths.filter((path) => path.startsWith('dist/') && !/^dist\/(?:bundle\/|cli\/main\.js$)/.test(path)),
  ).toEqual([]);
});

it('leaves nothing to install, and is built from a clean clone', () => {
  expect(manifest).not.toHaveProperty('dependencies');
  expect(manifest.scripts.prepack).toContain('build');
});

it('says where it comes from, under the name that the registry of MCP servers asks for', () => {
  const { repository, bugs, mcpName, name } = manifest;
  expect(repository.url).toMatch(/^git\+https:\/\/github\.com\/.+\.git$/);
  expect(bugs.url).toBe(`${repository.url.replace(/^git\+|\.git$/g, '')}/issues`);
  expect(mcpName).toMatch(new RegExp(`^io\\.github\\..+/${name}$`));
});
