// What other catalogues than npm's read of this repository: the registry of MCP servers, the marketplace of Claude Code
// and its plugin, the manifest of the .mcpb bundle, compose.yaml and the units of systemd. They agree with package.json, and
// name only what there is.

import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
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

describe('compose.yaml', () => {
  const { services, volumes } = parse(readFileSync(join(ROOT, 'compose.yaml'), 'utf8'));
  const { bridge } = services;

  it('starts the image of this version, and only the bridge', () => {
    expect(Object.keys(services)).toEqual(['bridge']);
    expect(bridge.image).toContain(`localhost/${manifest.name}:${manifest.version}`);
    expect(bridge.command[0]).toBe('serve');
    expect(Object.keys(volumes)).toEqual(['bridge-home']);
  });

  it('takes no setting of the bridge for anything but that setting', () => {
    const { environment, ...rest } = bridge;
    const names = (written: unknown) =>
      [...JSON.stringify(written).matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name);
    expect(names(rest).filter((name) => VARIABLES.includes(name))).toEqual([]);
    for (const [name, value] of Object.entries(environment)) expect(names(value)).toEqual([name]);
  });

  it('sets variables that there are, at the paths of what it mounts', () => {
    for (const name of Object.keys(bridge.environment))
      expect([...VARIABLES, 'MCP_SERVERS_CONFIG']).toContain(name);
    const places = bridge.volumes.map((mount: string) => /:(\/[^:]*)(?::ro)?$/.exec(mount)?.[1]);
    expect(places).toEqual(['/run/podman/podman.sock', '/home/bridge', '/tls', '/config']);
    expect(readFileSync(join(ROOT, 'Containerfile'), 'utf8')).toContain('unix:///run/podman/podman.sock');
  });
});

describe('the units of systemd', () => {
  const UNITS = ['mcp-sandbox-bridge.service', 'mcp-sandbox-bridge.socket'];
  /** Complaints of systemd about the units of a folder, which it loads and starts none of. */
  const complaintsOf = (folder: string, ...options: readonly string[]): string => {
    const runtime = mkdtempSync(join(tmpdir(), 'units-'));
    try {
      const { stdout, stderr, status } = spawnSync(
        'systemd-analyze',
        ['verify', ...options, ...UNITS.map((unit) => join(folder, unit))],
        { encoding: 'utf8', env: { PATH: process.env['PATH'], XDG_RUNTIME_DIR: runtime } },
      );
      return status === 0 ? stdout + stderr : `exit code ${status}: ${stdout}${stderr}`;
    } finally {
      rmSync(runtime, { recursive: true, force: true });
    }
  };
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

  it.skipIf(!hasSystemd)('have nothing that systemd-analyze verify complains of', () => {
    expect(complaintsOf(join(ROOT, 'packaging/systemd'))).toBe('');
    expect(complaintsOf(join(ROOT, 'packaging/systemd/user'), '--user')).toBe('');
    // The control.
    const broken = mkdtempSync(join(tmpdir(), 'units-'));
    for (const unit of UNITS) copyFileSync(join(ROOT, 'packaging/systemd', unit), join(broken, unit));
    const text = readFileSync(join(broken, UNITS[0] ?? ''), 'utf8');
    writeFileSync(join(broken, UNITS[0] ?? ''), text.replace('Delegate=', 'Delegat='));
    expect(complaintsOf(broken)).toContain('Delegat');
    rmSync(broken, { recursive: true, force: true });
  });
});

it('the bridge has one port in all pages, compose files and units; the command server has another', () => {
  const AT =
    /(?:127\.0\.0\.1|0\.0\.0\.0|localhost|example\.com|\[::1\]|--publish|--http|ListenStream=\S*?)[: ](\d{2,5})\b(?!\.)/g;
  const portsOf = (...files: readonly string[]) =>
    new Set(
      files.flatMap((file) =>
        [...readFileSync(join(ROOT, file), 'utf8').matchAll(AT)]
          .map(([, port]) => port)
          // OpenTelemetry has this port for collectors.
          .filter((port) => port !== '4318'),
      ),
    );
  const ofCommands = ['docs/languages-and-commands.md', 'compose.code-exec.yaml'];
  const pages = readdirSync(join(ROOT, 'docs'))
    .map((name) => `docs/${name}`)
    .filter((name) => name.endsWith('.md') && !ofCommands.includes(name));
  const units = ['', 'user/'].map((folder) => `packaging/systemd/${folder}mcp-sandbox-bridge.socket`);
  expect(portsOf('README.md', 'SECURITY.md', 'compose.yaml', ...pages, ...units)).toEqual(new Set(['8808']));
  expect(portsOf(...ofCommands)).toEqual(new Set(['8000']));
});
