// What a person has typed, from one `repl` to the next.

import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HISTORY_LINES, LineHistory } from '../../../src/cli/repl/repl.js';
import { tempHome } from '../../support/start-bridge.js';

let home: string;
beforeEach(() => {
  home = tempHome();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

it('is read as it was written, the newest first, and is for its user alone', () => {
  const history = new LineHistory(home);
  expect(history.read()).toEqual([]);
  history.write(['newest', '  ', 'oldest']);
  expect(new LineHistory(home).read()).toEqual(['newest', 'oldest']);
  if (process.platform !== 'win32') expect(statSync(join(home, 'repl-history')).mode & 0o777).toBe(0o600);
});

it('has a bound, and keeps the newest', () => {
  const history = new LineHistory(home);
  history.write(Array.from({ length: HISTORY_LINES + 5 }, (_, at) => `line ${at}`));
  expect(history.read().length).toBe(HISTORY_LINES);
  expect(history.read()[0]).toBe('line 0');
});

it('that cannot be written costs nothing', () => {
  writeFileSync(join(home, 'file'), '');
  expect(() => new LineHistory(join(home, 'file')).write(['x'])).not.toThrow();
});
