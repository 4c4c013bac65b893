// A policy file on a file system whose clock is coarse, as most are: two changes within one tick look like one. The clock
// of the machine that runs this may be finer, so the times that `stat` says are made coarse here.

import type { BigIntStats } from 'node:fs';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { PolicyBook } from '../../src/policy/rules/policy-book.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';

// Loaded anew with the mock, and once more without it for the files that run in this process afterwards.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const TICK_NS = 10_000_000n;
  const coarse = (stat: BigIntStats) => {
    const [mtimeNs, ctimeNs] = [stat.mtimeNs, stat.ctimeNs].map((ns) => (ns / TICK_NS) * TICK_NS);
    return Object.assign(stat, { mtimeNs, ctimeNs });
  };
  const statSync = (...args: Parameters<typeof fs.statSync>) => {
    const stat = fs.statSync(...args);
    return typeof stat?.mtimeMs === 'bigint' ? coarse(stat as BigIntStats) : stat;
  };
  return { ...fs, statSync };
});

it('is read anew when it changes twice within one tick, and what is wrong with it is told once', () => {
  const folder = mkdtempSync(join(tmpdir(), 'policy-book-'));
  try {
    const path = join(folder, 'p.yaml');
    const write = (text: string) => writeFileSync(path, text.padEnd(40), { mode: 0o600 });
    write('version: 1\ndeny: []');
    const events: BridgeEvent[] = [];
    const book = new PolicyBook({ policyFile: path, allow: undefined, deny: [] }, hostFacts(), (event) => {
      events.push(event);
    });
    for (let turn = 0; turn < 200; turn++) {
      const denied = ['files', 'github'][turn % 2] ?? '';
      write(`version: 1\ndeny: [${denied}]`);
      expect(book.policy([]).server(denied).allowed).toBe(false);
    }
    const unchanged = book.policy([]);
    write('version: 1\ndeny: [');
    for (let look = 0; look < 20; look++) expect(book.policy([]).server('github').allowed).toBe(false);
    expect(unchanged.server('github').allowed).toBe(false);
    expect(events).toHaveLength(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
