// What other catalogues than npm's read of this repository: the registry of MCP servers, the marketplace of Claude Code
// and its plugin, and the manifest of the .mcpb bundle. They agree with package.json, and name only what there is.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isOurselves } from '../../src/hosts/self.js';
import { settingsTable } from '../../src/settings/environment/settings.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const json = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
const manifest = json('package.json');
const VARIABLES = settingsTable().map(({ name }) => name);
const PAGE = manifest.repository.url.replace(/^git\+|\.git$/g, '');

describe('server.json', () => {
  const text = z.string().min(1);
  /** The part of the registry's schema of 2025-12-11 that we use, without fields that it does not know. */
  const input = z.strictObject({
    name: text,
    description: text.optional(),
    isRequired: z.boolean().optional(),
    isSecret: z.boolean().optional(),
    format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
    default: z.string().optional(),
  });
  const shape = z.strictObject({
    $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
    name: z
      .string()
      .min(3)
      .max(200)
      .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
    title: text.max(100),
    description: text.max(100),
    repository: z.strictObject({ url: z.url(), source: z.literal('github') }),
    version: text.max(255),
    packages: z
      .array(
        z.strictObject({
          registryType: z.literal('npm'),
          identifier: text,
          version: z.string().regex(/^\d+\.\d+\.\d+$/),
          runtimeHint: z.literal('npx'),
          transport: z.strictObject({ type: z.literal('stdio') }),
          environmentVariables: z.array(input),
        }),
      )
      .length(1),
  });

  it('has the shape that the registry demands', () => {
    expect(() => shape.parse(json('server.json'))).not.toThrow();
  });

  it('is of this package and this version', () => {
    const { name, version, repository, packages } = shape.parse(json('server.json'));
    expect({ name, version, url: repository.url }).toEqual({
      name: manifest.mcpName,
      version: manifest.version,
      url: PAGE,
    });
    expect(packages).toMatchObject([{ identifier: manifest.name, version: manifest.version }]);
  });

  it('names variables that there are, once each, with the default that they have', () => {
    const [{ environmentVariables = [] } = {}] = shape.parse(json('server.json')).packages;
    for (const { name, default: usual } of environmentVariables) {
      const row = settingsTable().find((one) => one.name === name);
      expect([name, row?.default]).toEqual([name, usual ?? expect.any(String)]);
    }
    expect(new Set(environmentVariables.map(({ name }) => name)).size).toBe(environmentVariables.length);
  });
});

describe('the plugin of Claude Code', () => {
  const marketplace = json('.claude-plugin/marketplace.json');
  const [entry] = marketplace.plugins;
  const plugin = json(join(entry.source, '.claude-plugin/plugin.json'));
  const { mcpServers } = json(join(entry.source, '.mcp.json'));

  it('lies in a folder of its own, so that a checkout registers nothing with whoever opens it', () => {
    expect(entry.source).toMatch(/^\.\/[\w-]+\/[\w-]+$/);
    for (const file of ['.mcp.json', '.claude-plugin/plugin.json'])
      expect([file, existsSync(join(ROOT, file))]).toEqual([file, false]);
  });

  it('is of this package and this version', () => {
    expect(plugin).toMatchObject({
      name: entry.name,
      version: manifest.version,
      license: manifest.license,
      repository: PAGE,
    });
    expect(Object.values(mcpServers)).toEqual([
      { command: 'npx', args: ['-y', `${manifest.name}@${manifest.version}`] },
    ]);
  });

  it('is known by the bridge as itself, which it does not start a second time', () => {
    for (const { command, args } of Object.values<{ command: string; args: string[] }>(mcpServers))
      expect(isOurselves(command, args)).toBe(true);
  });
});

describe('the manifest of the .mcpb bundle', () => {
  const { server, user_config, ...said } = json('packaging/mcpb/manifest.json');
  const { env, args } = server.mcp_config;

  it('is of this package and this version', () => {
    expect(said).toMatchObject({
      manifest_version: '0.4',
      name: manifest.name,
      version: manifest.version,
      license: manifest.license,
      homepage: manifest.homepage,
      support: manifest.bugs.url,
      compatibility: { runtimes: manifest.engines },
    });
    expect(server.entry_point).toBe(manifest.bin[manifest.name]);
    expect(args).toEqual([`\${__dirname}/${server.entry_point}`]);
  });

  it('asks for each setting that it passes on, and for variables that there are', () => {
    const asked = Object.entries<string>(env).map(([name, value]) => {
      expect(VARIABLES).toContain(name);
      return /^\$\{user_config\.(\w+)\}$/.exec(value)?.[1] ?? value;
    });
    expect(asked.toSorted()).toEqual(Object.keys(user_config).toSorted());
  });

  // Without a default a host may hand over the placeholder itself; with a value the setting would count as the user's own.
  it('leaves each setting empty, which is unset, where the user says nothing', () => {
    for (const [name, option] of Object.entries<object>(user_config))
      expect([name, option]).toEqual([name, expect.objectContaining({ default: '' })]);
  });
});
