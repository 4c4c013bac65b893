// What doctor says of the languages, from what an engine has: no container, no registry.

import { expect, it } from 'vitest';
import { VERSION } from '../../src/base/version.js';
import type { Examination } from '../../src/cli/doctor/examination.js';
import { languageFindings } from '../../src/cli/doctor/findings.js';
import { localImageName, readRecipe } from '../../src/engine/images/recipe.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { languages } from '../../src/settings/languages/records.js';

const { signal } = new AbortController();
const imageOf = (profile: string) => localImageName(readRecipe(profile), VERSION);

function examined(env: Record<string, string>, ...present: readonly string[]): Examination {
  const { settings } = parseSettings(env, hostFacts());
  const imageId = (image: string) => Promise.resolve(present.includes(image) ? `id of ${image}` : undefined);
  const pad = () => Promise.resolve({ value: { engine: { images: { imageId } } } });
  return { settings, pad, signal } as unknown as Examination;
}

const SHOWN = { MCP_BRIDGE_TOOLS: 'run_python,execute_code' };

it('is silent where agents do not see the tool', async () => {
  expect(await languageFindings(examined({}, imageOf('go')))).toEqual([]);
});

it('is silent where there is no sandbox at all, which other lines are about', async () => {
  const subject = { ...examined(SHOWN), pad: () => Promise.resolve({ error: new Error('no engine') }) };
  expect(await languageFindings(subject as unknown as Examination)).toEqual([]);
});

it('names the image of each language, or the command that makes it', async () => {
  const findings = await languageFindings(examined(SHOWN, 'python:3.14-slim', imageOf('javascript')));
  expect(findings.map(({ name }) => name)).toEqual(languages.map(({ name }) => `language ${name}`));
  const of = (language: string) => findings.find(({ name }) => name === `language ${language}`);
  expect(of('python')).toMatchObject({
    status: 'ok',
    detail: 'python:3.14-slim (the default, found locally)',
  });
  for (const language of ['javascript', 'typescript']) {
    expect(of(language)).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining(imageOf('javascript')),
    });
  }
  expect(of('go')).toEqual({
    name: 'language go',
    status: 'warn',
    detail: 'the image go is not here',
    remedy: 'Run `mcp-sandbox-bridge image build go`, which takes about a minute and needs no registry.',
  });
});

it('warns where our own image stands in for one of isolator’s file', async () => {
  const { settings, ...rest } = examined(SHOWN, imageOf('go'), imageOf('ruby'), 'ruby:3');
  const images = new Map([
    ['go', 'golang:1.21-alpine'],
    ['ruby', 'ruby:3'],
  ]);
  const findings = await languageFindings({
    ...rest,
    settings: { ...settings, imported: { source: "isolator's file", images } },
  } as unknown as Examination);
  const of = (language: string) => findings.find(({ name }) => name === `language ${language}`);
  expect(of('go')).toEqual({
    name: 'language go',
    status: 'warn',
    detail: `${imageOf('go')} (built here, because golang:1.21-alpine (named in isolator's file) is not here)`,
    remedy: "Pull golang:1.21-alpine, or remove it from isolator's file.",
  });
  expect(of('ruby')).toMatchObject({
    status: 'ok',
    detail: "ruby:3 (named in isolator's file, found locally)",
  });
});
