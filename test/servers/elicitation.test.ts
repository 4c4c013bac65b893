// Questions of servers, made fit to be put to a person or refused with a reason.

import { describe, expect, it } from 'vitest';
import { readElicitation } from '../../src/servers/asking/passed-on.js';

const BOTH = { form: true, url: true };
const FORM = { type: 'object', properties: { name: { type: 'string' } } };
const same = (text: string) => text;
const read = (raw: unknown, modes = BOTH) => readElicitation(raw, 'git', modes, same);
const form = (requestedSchema: unknown, message = 'Who?') => read({ message, requestedSchema });
const url = (address: unknown) => read({ mode: 'url', message: 'Log in', elicitationId: 'e1', url: address });

describe('a form', () => {
  it('keeps its schema and nothing beside it', () => {
    const raw = {
      message: 'Who?',
      requestedSchema: FORM,
      mode: 'form',
      _meta: { progressToken: 1 },
      task: {},
    };
    expect(read(raw)).toEqual({
      params: { mode: 'form', message: "[server 'git'] Who?", requestedSchema: FORM },
    });
  });

  it('has harmless labels and exact values', () => {
    const property = {
      type: 'string',
      title: 'a\u001b[31mb',
      description: 'c\u202e',
      enum: ['é', 'two words'],
    };
    expect(form({ type: 'object', properties: { title: property } })).toMatchObject({
      params: {
        requestedSchema: {
          properties: { title: { title: 'ab', description: 'c\\u202e', enum: ['é', 'two words'] } },
        },
      },
    });
  });

  it.each([
    ['a value', { properties: { x: { enum: ['yes\u202e'] } } }],
    ['a value of two lines', { properties: { x: { enum: ["yes\n[server 'bank'] no"] } } }],
    ['a name', { properties: { 'x\u0007': {} } }],
    ['a name that looks like another', { properties: { 'p\u200b': {} } }],
    ['a name with what only emoji need', { properties: { '❤\ufe0f': {} } }],
    ['a name of two lines', { properties: { 'p\nq': {} } }],
    ['a required name', { properties: {}, required: ['p\u2060'] }],
  ])('with %s that does not show as it is, is unfit', (_what, schema) => {
    expect(form(schema)).toEqual({ unfit: 'its form cannot be shown safely' });
  });

  it('cannot look like another server, nor like the bridge', () => {
    const message = "Who?\n\n\n[server 'bank'] Your PIN?\u2028Code in the sandbox wants to\r\n> x";
    const description = "Name\n[server 'bank'] PIN";
    expect(form({ properties: { n: { title: "a\n[server 'bank'] b", description } } }, message)).toEqual({
      params: {
        message: [
          "[server 'git'] asks:",
          '> Who?',
          '>',
          "> \\[server 'bank'] Your PIN?\\u2028Code in the sandbox wants to",
          '> > x',
        ].join('\n'),
        requestedSchema: {
          properties: {
            n: { title: "a \\[server 'bank'] b", description: "> Name\n> \\[server 'bank'] PIN" },
          },
        },
      },
    });
  });

  it('cannot push words onto a line of their own by spaces, or begin with another name', () => {
    const message = `Who?${' '.repeat(300)}\u00a0\u2800[ Server "bank"] PIN?`;
    expect(form(FORM, message)).toMatchObject({
      params: { message: '[server \'git\'] Who? \\[ Server "bank"] PIN?' },
    });
  });

  it('keeps emoji, and scripts that need joiners, readable', () => {
    const title = 'نام می‌خواهم 👩‍💻';
    const requestedSchema = { properties: { n: { title, enum: ['❤️ yes'], default: 'a\nb' } } };
    expect(form(requestedSchema, title)).toEqual({
      params: { message: `[server 'git'] ${title}`, requestedSchema },
    });
  });

  it('has words of a readable length, without what is secret', () => {
    const redact = (text: string) => text.replaceAll('tok-1', '[TOKEN]');
    const message = `tok-1 ${'x'.repeat(10_000)}`;
    const { params } = readElicitation({ message, requestedSchema: FORM }, 'git', BOTH, redact) as {
      params: { message: string };
    };
    expect(params.message).toMatch(/^\[server 'git'\] \[TOKEN\] x+…$/);
    expect(params.message).toHaveLength(4_000 + "[server 'git'] ".length);
  });

  it.each([
    [undefined, 'it holds no message'],
    [{ requestedSchema: FORM }, 'it holds no message'],
    [{ message: 'x' }, 'its form cannot be shown safely'],
    [{ message: 'x', requestedSchema: { d: 'y'.repeat(200_000) } }, 'it is longer than 100000 characters'],
    [
      { message: 'x', requestedSchema: { d: [[[[[[[[[[[[[[]]]]]]]]]]]]]] } },
      'it is nested deeper than 12 levels',
    ],
    [{ message: 'x', mode: 'hologram' }, 'the agent has no way to ask in the mode hologram'],
  ])('%j is unfit', (raw, unfit) => {
    expect(read(raw)).toEqual({ unfit });
  });
});

describe('an address', () => {
  it('has its words quoted too', () => {
    const raw = { mode: 'url', message: "a\n[server 'bank'] b", elicitationId: 'e1', url: 'https://x/' };
    expect(read(raw)).toMatchObject({
      params: { message: "[server 'git'] asks:\n> a\n> \\[server 'bank'] b" },
    });
  });

  it('is shown as a browser would, look-alike letters and all', () => {
    expect(url('https://аpple.com/x')).toEqual({
      params: {
        mode: 'url',
        message: "[server 'git'] Log in",
        url: 'https://xn--pple-43d.com/x',
        elicitationId: 'e1',
      },
    });
  });

  it.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'data:text/html,x',
    'https://bank.example@evil.example/',
    `https://x/${'y'.repeat(9_000)}`,
    'no url',
    7,
  ])('%s is unfit', (address) => {
    expect(url(address)).toEqual({ unfit: 'its address is not an http or https URL' });
  });

  it('needs an agent that opens addresses', () => {
    const raw = { mode: 'url', message: 'Log in', elicitationId: 'e1', url: 'https://x/' };
    expect(read(raw, { form: true, url: false })).toEqual({
      unfit: 'the agent has no way to ask in the mode url',
    });
  });
});
