// A folder of snippets on a real disk, with what people and mischief put into it.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/base/errors.js';
import { isHarmless } from '../../../src/base/text/text.js';
import { parseSnippetUri, snippetUri } from '../../../src/mcp/resources/resources.js';
import { descriptionOf, Snippets } from '../../../src/run/programs/snippets.js';

let base: string;
let folder: string;
let snippets: Snippets;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'snippets-'));
  folder = join(base, 'prompts');
  mkdirSync(folder);
  snippets = new Snippets(folder);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const put = (file: string, code: string | Buffer = '1\n') => writeFileSync(join(folder, file), code);
const names = async () => (await snippets.list()).map(({ name }) => name);
const reasons = async () =>
  Object.fromEntries((await snippets.survey()).skipped.map(({ file, reason }) => [file, reason]));

async function refusal(name: string, from = snippets): Promise<BridgeError> {
  const thrown = await from.find(name).catch((error: unknown) => error);
  if (thrown instanceof BridgeError) return thrown;
  throw new Error(`'${name}' was found`);
}

describe('what is there', () => {
  it('each file of a language is one, by its name without the ending', async () => {
    put('hello_world.py', '#!/usr/bin/env python3\n# Greets the world.\nprint("hi")\n');
    put('sum.v2.go', 'package main\n\n// Adds up.\n');
    put('.hidden.py');
    put('README.md');
    mkdirSync(join(folder, 'report.py'));
    expect((await snippets.list()).map((each) => ({ ...each, language: each.language.name }))).toEqual([
      { name: 'hello_world', file: 'hello_world.py', language: 'python', description: 'Greets the world.' },
      { name: 'sum.v2', file: 'sum.v2.go', language: 'go', description: 'Adds up.' },
    ]);
    expect(await reasons()).toEqual({
      'README.md': 'has an ending that belongs to no language',
      'report.py': 'is a folder',
    });
    const { language, ...found } = await snippets.find('sum.v2');
    expect(found).toEqual({ name: 'sum.v2', file: 'sum.v2.go', code: 'package main\n\n// Adds up.\n' });
    expect(language.name).toBe('go');
    expect(await snippets.find('hello_world.py')).toMatchObject({ name: 'hello_world' });
  });

  it('is read anew each time', async () => {
    expect(await names()).toEqual([]);
    put('a.py', '1');
    expect(await snippets.find('a')).toMatchObject({ code: '1' });
    put('a.py', '2');
    expect(await snippets.find('a')).toMatchObject({ code: '2' });
  });

  it('a folder that is itself a link is followed, and a byte order mark is taken off', async () => {
    put('a.js', '\uFEFFconsole.log(1)');
    symlinkSync(folder, join(base, 'link'));
    expect(await new Snippets(join(base, 'link')).find('a')).toMatchObject({ code: 'console.log(1)' });
  });

  it('at most a thousand are listed, and the others are found', async () => {
    for (let index = 0; index < 1_010; index++) put(`s${String(index).padStart(4, '0')}.sh`);
    expect(await names()).toHaveLength(1_000);
    expect(await snippets.find('s1009')).toMatchObject({ file: 's1009.sh' });
  });
});

describe('a name that is not one', () => {
  it('is answered with the names, and with the likeliest', async () => {
    put('hello_world.py');
    put('tidy.rb');
    expect(await refusal('helo-world')).toMatchObject({
      code: 'E_ARGUMENTS',
      fault: 'agent',
      message: "There is no snippet 'helo-world'. Did you mean 'hello_world'?",
      remedy: 'Snippets: hello_world, tidy.',
    });
  });

  it('says so of an empty folder, a missing one, and none at all', async () => {
    expect((await refusal('a')).remedy).toBe('The folder of snippets is empty.');
    const missing = await refusal('a', new Snippets(join(base, 'absent')));
    expect(missing.message).toContain('ENOENT');
    expect(missing.remedy).toContain('MCP_BRIDGE_SNIPPETS');
    const none = await refusal('a', new Snippets(undefined));
    expect(none.advice).toContain('Set MCP_BRIDGE_SNIPPETS to a folder');
    writeFileSync(join(base, 'file'), '');
    expect((await refusal('a', new Snippets(join(base, 'file')))).message).toContain('ENOTDIR');
  });

  it.each([
    '../secret',
    '../secret.py',
    '..',
    '.',
    '',
    '/etc/passwd',
    'sub/inner',
    'sub/inner.py',
    './plain',
    'plain.py/',
    'plain\0.py',
    'plain.py\0',
    '.hidden',
    '.hidden.py',
    '\u001b[2Jplain',
    '__proto__',
    'x'.repeat(100_000),
  ])('%j leads nowhere', async (name) => {
    writeFileSync(join(base, 'secret.py'), 'secret');
    mkdirSync(join(folder, 'sub'));
    writeFileSync(join(folder, 'sub/inner.py'), 'inner');
    put('plain.py');
    put('.hidden.py');
    const { code, advice } = await refusal(name);
    expect(code).toBe('E_ARGUMENTS');
    expect(advice).toContain('Snippets: plain.');
    expect(advice.length).toBeLessThan(300);
    expect(isHarmless(advice)).toBe(true);
  });

  it('that two files have is settled by the whole file name', async () => {
    put('hello.py', 'python');
    put('hello.js', 'javascript');
    put('hello.js.rb', 'ruby');
    expect(await names()).toEqual(['hello.js', 'hello.js.rb', 'hello.py']);
    expect(await refusal('hello')).toMatchObject({
      message: "The snippet 'hello' could be any of: hello.js, hello.py.",
      remedy: 'Pass the whole file name, with its ending.',
    });
    expect(await snippets.find('hello.py')).toMatchObject({ name: 'hello.py', code: 'python' });
    expect(await snippets.find('hello.js')).toMatchObject({ code: 'javascript' });
    expect(await snippets.find('hello.js.rb')).toMatchObject({ code: 'ruby' });
  });

  it('an accent is the same however it is written', async () => {
    put('caf\u0065\u0301.py', 'decomposed');
    expect(await snippets.find('caf\u00e9')).toMatchObject({ code: 'decomposed' });
  });
});

describe('a file that is no snippet', () => {
  it('links stay in the folder', async () => {
    writeFileSync(join(base, 'secret.py'), 'secret');
    mkdirSync(join(folder, 'sub'));
    writeFileSync(join(folder, 'sub/inner.py'), 'inner');
    // Its path begins as that of the folder does.
    mkdirSync(`${folder}-other`);
    writeFileSync(`${folder}-other/x.py`, 'other');
    put('own.py', 'own');
    symlinkSync('own.py', join(folder, 'alias.py'));
    symlinkSync('sub/inner.py', join(folder, 'inner.py'));
    symlinkSync('../secret.py', join(folder, 'out.py'));
    symlinkSync('/etc/hostname', join(folder, 'host.py'));
    symlinkSync(join(`${folder}-other`, 'x.py'), join(folder, 'beside.py'));
    symlinkSync('out.py', join(folder, 'detour.py'));
    symlinkSync('nowhere', join(folder, 'dangling.py'));
    symlinkSync('loop.py', join(folder, 'loop.py'));
    symlinkSync('sub', join(folder, 'folder.py'));
    expect(await names()).toEqual(['alias', 'inner', 'own']);
    expect(await snippets.find('alias')).toMatchObject({ file: 'alias.py', code: 'own' });
    expect(await reasons()).toEqual({
      'beside.py': 'is a link that leads out of the folder',
      'dangling.py': 'is a link that leads nowhere',
      'detour.py': 'is a link that leads out of the folder',
      'folder.py': 'is not a regular file',
      'host.py': 'is a link that leads out of the folder',
      'loop.py': 'is a link that leads nowhere',
      'out.py': 'is a link that leads out of the folder',
      sub: 'is a folder',
    });
    expect((await refusal('out')).message).toBe(
      "The snippet 'out' cannot be used: its file out.py is a link that leads out of the folder.",
    );
  });

  it('a pipe is not waited for, and what is too large or not text is named', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe.py')]);
    put('large.py', 'x'.repeat(1_000_001));
    put('fits.py', 'x'.repeat(1_000_000));
    put('latin.py', Buffer.from([0x23, 0xe9, 0x0a]));
    put('late.py', Buffer.concat([Buffer.alloc(100_000, 0x20), Buffer.from([0xff])]));
    // A character of four bytes that the first look cuts in two.
    put('wide.py', `#${'\u{1f600}'.repeat(2_000)}`);
    expect(await names()).toEqual(['fits', 'late', 'wide']);
    expect(await reasons()).toEqual({
      'large.py': 'has 1000001 bytes; a snippet has at most 1000000',
      'latin.py': 'is not UTF-8',
      'pipe.py': 'is not a regular file',
    });
    for (const [name, reason] of [
      ['pipe', 'pipe.py is not a regular file.'],
      ['large', 'at most 1000000.'],
      ['latin', 'latin.py is not UTF-8.'],
      ['late', 'late.py is not UTF-8.'],
    ] as const) {
      expect((await refusal(name)).message).toContain(reason);
    }
    expect((await snippets.find('fits')).code).toHaveLength(1_000_000);
  });

  it('names that would be options, or that read as others, are passed over', async () => {
    put('-rf.py');
    put('new\nline.py');
    put('\u202eyp.txt.py');
    put('bell\u0007.py');
    expect(await names()).toEqual([]);
    expect(Object.keys(await reasons())).toHaveLength(4);
  });

  it.runIf(process.getuid?.() !== 0)('one that may not be read is named with the reason', async () => {
    put('mine.py');
    chmodSync(join(folder, 'mine.py'), 0);
    expect(await reasons()).toEqual({ 'mine.py': 'cannot be read: EACCES' });
    expect((await refusal('mine')).message).toContain('mine.py cannot be read: EACCES');
  });
});

it.each([
  ['"""Counts words.\n\nMore."""\n', 'Counts words.'],
  ['"""\nCounts words.\n"""\n', 'Counts words.'],
  ['# -*- coding: utf-8 -*-\n#\n# Counts words.\n', 'Counts words.'],
  ['/**\n * Counts words.\n */', 'Counts words.'],
  ['/* Counts words. */', 'Counts words.'],
  ["'use strict';\n// Counts\twords.", 'Counts words.'],
  ['//go:build linux\n\npackage main\n\n// Counts words.', 'Counts words.'],
  ['# frozen_string_literal: true\n# Counts words.', 'Counts words.'],
  ['print(1)\n# Counts words.', ''],
  ['"""\n"""\nx = 1', ''],
  ['', ''],
  ['# \u001b]0;title\u0007Counts words.', 'Counts words.'],
])('%j says %j', (head, said) => {
  expect(descriptionOf(head)).toBe(said);
});

it('an address holds any name, and nothing else is one', () => {
  for (const name of ['hello_world', 'a b/c', 'ä%2e', '..'])
    expect(parseSnippetUri(snippetUri(name))).toBe(name);
  expect(parseSnippetUri('resource://mcp-sandbox-bridge/snippets')).toBeUndefined();
  expect(parseSnippetUri('resource://mcp-sandbox-bridge/snippets/%')).toBeUndefined();
  expect(parseSnippetUri('resource://mcp-sandbox-bridge/kept/x')).toBeUndefined();
});
