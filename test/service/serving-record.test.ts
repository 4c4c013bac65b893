// Records of bridges that serve over HTTP: who is found by them, and which of them nobody believes any more.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Owner, thisOwner } from '../../src/base/process/owner.js';
import { canBeSignalled, httpServing, recordServing } from '../../src/service/endpoint/serving-record.js';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'serving-'));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const folder = () => join(stateDir, 'http', 'serving');
const left = (name: string, owner: Partial<Owner>) => {
  const record = {
    owner: { ...thisOwner(), ...owner },
    address: 'http://127.0.0.1:1/mcp',
    since: '2026-01-02T03:04:05.000Z',
    version: '0',
  };
  mkdirSync(folder(), { recursive: true });
  writeFileSync(join(folder(), `${name}.json`), JSON.stringify(record));
};

it('a bridge is found while it serves, and no longer', () => {
  const record = recordServing(stateDir, 'http://127.0.0.1:8808/mcp');
  const [found, ...others] = httpServing(['/nowhere', stateDir]);
  expect(others).toEqual([]);
  expect(found).toMatchObject({
    owner: { pid: process.pid },
    address: 'http://127.0.0.1:8808/mcp',
    isHere: true,
  });
  record[Symbol.dispose]();
  expect(httpServing([stateDir])).toEqual([]);
  expect(readdirSync(folder())).toEqual([]);
});

it('a record of a process that has ended, or whose number another one has now, is removed', () => {
  left('ended', { pid: 2 ** 22 + 1 });
  left('earlier boot', { bootId: 'another' });
  if (thisOwner().startTime !== '') left('another process', { startTime: '1' });
  expect(httpServing([stateDir])).toEqual([]);
  expect(readdirSync(folder())).toEqual([]);
});

it('one of another machine is shown, and gets no signal from here', () => {
  left('elsewhere', { machine: 'another', pid: 1 });
  const [found] = httpServing([stateDir]);
  expect(found).toMatchObject({ isHere: false });
  expect(found && canBeSignalled(found)).toBe(false);
});

it('half a file is passed over, and stays', () => {
  mkdirSync(folder(), { recursive: true });
  writeFileSync(join(folder(), 'half.json'), '{"owner": {');
  expect(httpServing([stateDir])).toEqual([]);
});

it('a folder that cannot be written keeps nobody from serving', () => {
  writeFileSync(join(stateDir, 'http'), '');
  recordServing(stateDir, 'http://127.0.0.1:1/mcp');
  expect(httpServing([stateDir])).toEqual([]);
});
