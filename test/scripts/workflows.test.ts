// The workflows for GitHub, which cannot be run here: that they are YAML of the right shape, name only what is there, and
// are given no more than they need.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, '.github/workflows');

const step = z
  .strictObject({
    name: z.string().optional(),
    uses: z.string().optional(),
    with: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
    run: z.string().optional(),
    if: z.string().optional(),
    env: z.record(z.string(), z.string()).optional(),
    shell: z.string().optional(),
    'continue-on-error': z.boolean().optional(),
  })
  .refine((one) => (one.uses === undefined) !== (one.run === undefined), 'either uses or run');
const job = z.strictObject({
  name: z.string(),
  'runs-on': z.string().regex(/^(ubuntu|macos|windows)-\d/),
  'timeout-minutes': z.number().max(60),
  strategy: z
    .strictObject({ 'fail-fast': z.boolean(), matrix: z.record(z.string(), z.array(z.string())) })
    .optional(),
  defaults: z.unknown().optional(),
  container: z
    .strictObject({
      image: z.string().regex(/^debian:(?:\d+|\$\{\{ matrix\.debian \}\})$/),
      options: z.string(),
    })
    .optional(),
  permissions: z.record(z.string(), z.enum(['read', 'write'])).optional(),
  steps: z.array(step).min(1),
});
const workflow = z.strictObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions: z.strictObject({ contents: z.literal('read') }),
  concurrency: z.unknown().optional(),
  env: z.record(z.string(), z.string()).optional(),
  jobs: z.record(z.string().regex(/^[a-z][a-z-]*$/), job),
});

const { scripts } = z
  .looseObject({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

describe.each(readdirSync(FOLDER))('%s', (file) => {
  const text = readFileSync(join(FOLDER, file), 'utf8');
  const document = parseDocument(text, { prettyErrors: true, strict: true, uniqueKeys: true });
  const { jobs } = workflow.parse(document.toJS());
  const steps = Object.values(jobs).flatMap((one) => one.steps);
  const commands = steps.flatMap(({ run }) => (run === undefined ? [] : [run]));

  it('is YAML without an error or a warning', () => {
    expect([document.errors, document.warnings]).toEqual([[], []]);
  });

  it('pins every action to a major version', () => {
    const used = steps.flatMap(({ uses }) => (uses === undefined ? [] : [uses]));
    expect(used.length).toBeGreaterThan(0);
    for (const action of used) expect(action).toMatch(/^[\w.-]+\/[\w./-]+@v\d+$/);
  });

  it('may write nothing, but for the release, which says what and why', () => {
    const PUBLISHES = { contents: 'write', 'id-token': 'write' };
    for (const [name, { permissions }] of Object.entries(jobs))
      expect([file, name, permissions]).toEqual([file, name, file === 'release.yml' ? PUBLISHES : undefined]);
  });

  it('calls only scripts that are there', () => {
    const named = commands.flatMap((run) =>
      [...run.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = '']) => name),
    );
    expect(named.length).toBeGreaterThan(0);
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
  });

  it('names only files that are there, or that the build makes', () => {
    const paths = commands.flatMap((run) => [
      ...run.matchAll(/(?<![\w/~.])(?:scripts|test|dist|bin)\/[\w./-]+/g),
    ]);
    expect(paths.length).toBeGreaterThan(0);
    for (const [path] of paths) {
      const source = path.replace(/^dist\/(.*)\.js$/, 'src/$1.ts');
      expect([path, existsSync(join(ROOT, source))]).toEqual([path, true]);
    }
  });

  it('asks for a system and an engine by names that its steps use', () => {
    for (const [name, { strategy, ...rest }] of Object.entries(jobs)) {
      const said = JSON.stringify(rest);
      for (const key of Object.keys(strategy?.matrix ?? {}))
        expect([name, said.includes(`matrix.${key}`)]).toEqual([name, true]);
      for (const [, key = ''] of said.matchAll(/matrix\.(\w+)/g))
        expect(Object.keys(strategy?.matrix ?? {})).toContain(key);
    }
  });

  it('puts no text of a stranger into a command', () => {
    for (const run of commands) expect(run).not.toMatch(/\$\{\{/);
  });
});

it('a release checks its tag, tests, and publishes with provenance, without a secret', () => {
  const text = readFileSync(join(FOLDER, 'release.yml'), 'utf8');
  const order = [
    'GITHUB_REF_NAME',
    'npm run check',
    'npm run test:unit',
    'npm publish --provenance',
    'pack-mcpb.mjs',
    'gh release create',
    'login github-oidc',
  ].map((words) => text.indexOf(words));
  expect(order).not.toContain(-1);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(text).not.toContain('secrets.');
});

describe('what a stranger is asked', () => {
  const TEMPLATES = join(ROOT, '.github/ISSUE_TEMPLATE');
  const field = z.strictObject({
    type: z.enum(['textarea', 'input']),
    id: z.string().regex(/^[a-z]+$/),
    attributes: z.strictObject({
      label: z.string(),
      description: z.string().optional(),
      placeholder: z.string().optional(),
      render: z.string().optional(),
    }),
    validations: z.strictObject({ required: z.boolean() }).optional(),
  });
  const template = z.strictObject({
    name: z.string(),
    description: z.string(),
    labels: z.array(z.string()),
    body: z.array(field).min(1),
  });
  const parse = (file: string) =>
    parseDocument(readFileSync(join(TEMPLATES, file), 'utf8'), { strict: true, uniqueKeys: true }).toJS();

  it.each(['bug.yml', 'feature.yml'])('%s is a form that GitHub shows', (file) => {
    const { body } = template.parse(parse(file));
    expect(new Set(body.map(({ id }) => id)).size).toBe(body.length);
  });

  it('a bug comes with what doctor says', () => {
    const { body } = template.parse(parse('bug.yml'));
    expect(body.find(({ id }) => id === 'doctor')?.attributes.description).toContain('doctor --json');
  });

  it('a weakness is reported in private, as SECURITY.md says', () => {
    const { contact_links: links } = parse('config.yml');
    expect(links).toMatchObject([{ url: expect.stringMatching(/\/security\/policy$/) }]);
    expect(readFileSync(join(ROOT, 'SECURITY.md'), 'utf8')).toContain('## Reporting a vulnerability');
  });
});
