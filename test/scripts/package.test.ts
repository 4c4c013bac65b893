// What npm would publish of this checkout: what a user needs and no more, small, and with nothing left to install.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
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
const readJson = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
const manifest = readJson('package.json');

it('takes little room when it is packed', () => {
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
      'compose.yaml',
      'compose.code-exec.yaml',
      'packaging/grafana/mcp-sandbox-bridge.json',
      'packaging/helm/mcp-sandbox-bridge/Chart.yaml',
      'packaging/kubernetes/mcp-sandbox-bridge.yaml',
      'packaging/systemd/mcp-sandbox-bridge.service',
      'packaging/systemd/mcp-sandbox-bridge.socket',
      'packaging/systemd/user/mcp-sandbox-bridge.service',
      'packaging/systemd/user/mcp-sandbox-bridge.socket',
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

it('has only the kinds of files that its folders are for, and names no place of the machine that has made it', () => {
  const kinds =
    /^(?:[A-Z]+(?:\.md)?|package\.json|compose(?:\.code-exec)?\.yaml|packaging\/systemd\/(?:user\/)?mcp-sandbox-bridge\.(?:service|socket)|packaging\/grafana\/mcp-sandbox-bridge\.json|packaging\/helm\/mcp-sandbox-bridge\/(?:templates\/)?[\w-]+\.(?:yaml|tpl|txt)|packaging\/kubernetes\/mcp-sandbox-bridge\.yaml|bin\/code-exec|dist\/bundle\/(?:[\w-]+\.cjs|page\.(?:js|css)|LICENSES\.txt)|dist\/cli\/main\.js|docs\/[\w-]+\.md|sandbox-runtime(?:\/[\w-]+)+\.(?:[cm]?js|json|py|rb|sh))$/;
  expect(paths.filter((path) => !kinds.test(path))).toEqual([]);
  expect(paths.filter((path) => readFileSync(join(ROOT, path), 'utf8').includes(ROOT))).toEqual([]);
  // The control.
  for (const path of [
    'docs/.env',
    'bin/key',
    'sandbox-runtime/images/id_rsa',
    'dist/bundle/../x.cjs',
    '/etc/x',
  ])
    expect(path).not.toMatch(kinds);
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

describe('the licences of what is bundled', () => {
  const text = readFileSync(join(ROOT, 'dist/bundle/LICENSES.txt'), 'utf8');
  const notices = text
    .split(/^-{80}\n/m)
    .map((notice) => notice.trim())
    .filter((notice) => notice !== '')
    .flatMap((notice) => {
      // Packages with the same terms have a line each above them.
      const [headings = '', ...paragraphs] = notice.split('\n\n');
      return headings.split('\n').map((heading) => {
        const [, name = '', version = '', licence = ''] = /^(\S+) (\S+) \((.*)\)$/.exec(heading) ?? [];
        return { name, version, licence, terms: paragraphs.join('\n\n').trim() };
      });
    });

  /** Packages in the bundle as `name version`, by what its source maps say: not by the list that is checked here. */
  function bundled(): string[] {
    const maps = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      /^(?:bundle[\\/].*|cli[\\/]main)\.c?js\.map$/.test(name),
    );
    const sources = maps.flatMap(
      (name) => z.looseObject({ sources: z.array(z.string()) }).parse(readJson(join('dist', name))).sources,
    );
    const folders = sources.flatMap(
      (source) => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? [],
    );
    return [...new Set(folders)].map((folder) => {
      const { name, version } = readJson(join(folder, 'package.json'));
      return `${name} ${version}`;
    });
  }

  it('name every package that the bundle has in it, and no other', () => {
    const named = notices.map(({ name, version }) => `${name} ${version}`);
    expect(named.length).toBeGreaterThan(20);
    expect(named.toSorted()).toEqual(bundled().toSorted());
  });

  it('have the terms of each', () => {
    for (const { name, terms } of notices) {
      expect([name, terms.length > 400]).toEqual([name, true]);
      expect([name, /permission|redistribution|apache license/i.test(terms)]).toEqual([name, true]);
    }
  });

  it('are none that would reach over to our own code', () => {
    const PERMISSIVE = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'BlueOak-1.0.0'];
    for (const { name, licence } of notices)
      expect([name, PERMISSIVE]).toEqual([name, expect.arrayContaining([licence])]);
    expect(text).not.toMatch(/GNU (?:LESSER |AFFERO )?GENERAL PUBLIC|Mozilla Public License/i);
  });
});
