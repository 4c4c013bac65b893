// Resources and prompts of real servers: lists read with tolerance and within limits, results in the server's own
// characters, and errors that say what there is instead.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Downstream } from '../../src/servers/server/downstream.js';
import {
  getPrompt,
  listPrompts,
  listResources,
  listResourceTemplates,
  readResource,
} from '../../src/servers/server/resources.js';
import { npmServer } from '../support/start-bridge.js';
import { NEVER } from '../support/time.js';
import { hostile, poolOf, spec, type TestPool } from './hostile.js';

const { command, args = [] } = npmServer('@modelcontextprotocol/server-everything');
const named = (name: string, ...modes: string[]) => ({ ...hostile(...modes), name });

let pool: TestPool;
let everything: Downstream;
let odd: Downstream;
beforeAll(async () => {
  pool = poolOf([
    spec('everything', command, args),
    named('odd', 'resources'),
    named('endless', 'resources=endless'),
    named('bare'),
    { ...named('secretive', 'resources'), env: { TOKEN: 'tok-12345678' } },
  ]);
  [everything, odd] = await Promise.all([pool.get('everything', NEVER), pool.get('odd', NEVER)]);
});
afterAll(() => pool[Symbol.asyncDispose]());

const live = (name: string) => pool.get(name, NEVER);

describe('lists', () => {
  it('of a reference server are whole', async () => {
    const { items, problems } = await listResources(everything, NEVER);
    expect(problems).toEqual([]);
    expect(items.length).toBeGreaterThan(5);
    expect(items[0]).toMatchObject({ uri: expect.stringMatching(/^demo:/), mimeType: expect.any(String) });
    const templates = await listResourceTemplates(everything, NEVER);
    expect(templates.items.map(({ uriTemplate }) => uriTemplate)).toContain(
      'demo://resource/dynamic/text/{resourceId}',
    );
    const prompts = await listPrompts(everything, NEVER);
    expect(prompts.items.map(({ name }) => name)).toContain('args-prompt');
  });

  it('of an odd server keep what is usable, and what only it knows', async () => {
    const { items, problems } = await listResources(odd, NEVER);
    expect(items.map(({ uri }) => uri)).toEqual([
      'hostile:text',
      'hostile:big',
      'hostile:deep',
      'hostile:wordy',
      'hostile:odd',
      'hostile:hang',
    ]);
    expect(items[0]).toEqual({
      uri: 'hostile:text',
      name: 'text',
      description: 'plain words',
      size: 12,
      ownField: { x: 1 },
    });
    // Too deep or too long: the address is what counts.
    expect([items[2], items[3]]).toEqual([{ uri: 'hostile:deep' }, { uri: 'hostile:wordy' }]);
    expect(problems).toEqual(['left out because they have no usable uri: 6 of resources']);
    expect(await listResourceTemplates(odd, NEVER)).toEqual({ items: [], problems: [] });
  });

  it('without an end are given one', async () => {
    const { items, problems } = await listResources(await live('endless'), NEVER);
    expect(items).toHaveLength(1_000);
    expect(problems).toEqual(['resources/list does not end: stopped after 100 pages']);
  });

  it('of a server that has none are an error that says so', async () => {
    const bare = await live('bare');
    await expect(listResources(bare, NEVER)).rejects.toMatchObject({
      code: 'E_RESOURCE_FAILED',
      message: "Server 'bare' has no resources.",
      remedy: expect.stringMatching(/^It has \d+ tools\.$/),
    });
    await expect(getPrompt(bare, 'x', {}, NEVER)).rejects.toMatchObject({
      code: 'E_PROMPT_FAILED',
      message: "Server 'bare' has no prompts.",
    });
  });
});

describe('results', () => {
  it('come in the characters of the server, whatever their form', async () => {
    const text = await readResource(odd, 'hostile:text', NEVER);
    expect(text.text).toBe('{"contents":[{"uri":"hostile:text","mimeType":"text/plain","text":"the text"}]}');
    expect((await readResource(odd, 'hostile:odd', NEVER)).text).toBe('{"contents":"none","ownField":true}');
    const blob = await readResource(everything, 'demo://resource/dynamic/blob/1', NEVER);
    expect(JSON.parse(blob.text)).toMatchObject({ contents: [{ blob: expect.any(String) }] });
  });

  it('may be 40 MB long', async () => {
    expect((await readResource(odd, 'hostile:big', NEVER)).text.length).toBeGreaterThan(40 * 1024 * 1024);
  });

  it('of a prompt hold its arguments', async () => {
    const { text } = await getPrompt(everything, 'args-prompt', { city: 'Rome', state: 'RM' }, NEVER);
    expect(text).toContain("What's weather in Rome, RM?");
  });

  it('are no longer waited for when nobody wants them', async () => {
    const controller = new AbortController();
    const reading = readResource(odd, 'hostile:hang', controller.signal);
    setTimeout(() => controller.abort('cancelled'), 50);
    await expect(reading).rejects.toMatchObject({ code: 'E_CANCELLED' });
  });
});

describe('errors', () => {
  it.each([
    ['hostile:txt', "Did you mean 'hostile:text'?"],
    ['file:///etc/passwd', 'await runtime.list_resources(server) names those that it lists.'],
  ])('name server and URI of %s, and what there is', async (uri, remedy) => {
    await expect(readResource(odd, uri, NEVER)).rejects.toMatchObject({
      code: 'E_RESOURCE_FAILED',
      message: `Resource '${uri}' of server 'odd': Resource not found, key none.`,
      remedy,
    });
  });

  it('hold no secret of the configuration', async () => {
    const secretive = await live('secretive');
    await expect(readResource(secretive, 'hostile:none', NEVER)).rejects.toMatchObject({
      message: "Resource 'hostile:none' of server 'secretive': Resource not found, key [TOKEN of secretive].",
    });
  });

  it('of prompts say what they are called and what they take', async () => {
    await expect(getPrompt(odd, 'gret', {}, NEVER)).rejects.toMatchObject({
      code: 'E_PROMPT_FAILED',
      message: "Prompt 'gret' of server 'odd': Unknown prompt: gret.",
      remedy: "Did you mean 'greet'?",
    });
    await expect(getPrompt(odd, 'greet', {}, NEVER)).rejects.toMatchObject({
      message: "Prompt 'greet' of server 'odd': who is missing.",
      remedy: 'Its arguments: who, how (optional).',
    });
  });

  it('refuse a name that is none before it is sent', async () => {
    await expect(readResource(odd, `x:${'y'.repeat(10_000)}`, NEVER)).rejects.toMatchObject({
      code: 'E_RESOURCE_FAILED',
      message: expect.stringContaining('The URI has 10002 characters; at most 8000 are allowed'),
    });
  });
});
