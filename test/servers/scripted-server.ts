// Servers of a few lines over stdio, for how a server is greeted: what they do with each method is a line of code, and they
// write down what they were asked.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { StdioSpec } from '../../src/hosts/downstream-spec.js';
import { spec } from './hostile.js';

export type Script = {
  /** Code for a method, with `id`, `params`, `answer(result)`, `refuse(code, message, data)`, `asked` (how often) in reach. */
  readonly on: Readonly<Record<string, string>>;
  /** Code for every other request; by default it is refused as unknown. */
  readonly onOther?: string;
  /** How long it takes to begin to read, in ms. */
  readonly startsIn?: number;
  /** Printed to stderr at once. */
  readonly banner?: string;
};

export const LEGACY = {
  initialize: `answer({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })`,
  'tools/list': `answer({ tools: [{ name: 'go', inputSchema: {} }] })`,
  'tools/call': `answer({ content: [{ type: 'text', text: 'ok' }] })`,
};

const SUPPORTED = `{ supported: ['2026-07-28'], requested: 'x' }`;
const COMPLETE = `resultType: 'complete', ttlMs: 0, cacheScope: 'private'`;
export const MODERN = {
  'server/discover': `answer({ ${COMPLETE}, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })`,
  initialize: `refuse(-32602, 'This server speaks MCP 2026-07-28 only.', ${SUPPORTED})`,
  'tools/list': `answer({ ${COMPLETE}, tools: [{ name: 'go', inputSchema: {} }] })`,
  'tools/call': `answer({ ${COMPLETE}, content: [{ type: 'text', text: 'ok' }] })`,
};

/**
 * The entry of such a server, and what all of its processes were asked, in its order: the methods, and as `counted` each
 * with how many requests its own process had got by then.
 */
export function scripted({ on, onOther, startsIn = 0, banner }: Script): {
  readonly entry: StdioSpec;
  readonly asked: () => string[];
  readonly counted: () => string[];
} {
  const folder = mkdtempSync(join(tmpdir(), 'scripted-server-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, 'asked');
  const cases = Object.entries(on).map(([method, code]) => `case '${method}': ${code}; break;`);
  const code = `
    const { appendFileSync } = require('node:fs');
    ${banner === undefined ? '' : `console.error(${JSON.stringify(banner)});`}
    let asked = 0;
    const read = () => require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      asked++;
      appendFileSync(process.env.LOG, method + ' ' + asked + '\\n');
      const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...message }));
      const answer = (result) => say({ result });
      const refuse = (code, message, data) => say({ error: { code, message, data } });
      switch (method) {
        ${cases.join('\n')}
        default: ${onOther ?? "refuse(-32601, 'Method not found')"}
      }
    });
    setTimeout(read, ${startsIn});`;
  const counted = () => {
    try {
      return readFileSync(log, 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  };
  return {
    entry: { ...spec('scripted', process.execPath, ['-e', code]), env: { LOG: log } },
    asked: () => counted().map((line) => line.replace(/ \d+$/, '')),
    counted,
  };
}
