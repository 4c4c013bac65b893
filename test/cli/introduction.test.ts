import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { introduce } from '../../src/cli/introduction.js';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';

const SCRIPT = '/usr/bin/script';

describe('our name and nothing else', () => {
  let home: string | undefined;
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    if (home !== undefined) rmSync(home, { recursive: true, force: true });
    home = undefined;
  });

  /** What `introduce` writes on a terminal of that many columns. */
  function introduction(columns: number): string {
    let said = '';
    vi.stubEnv('COLUMNS', String(columns));
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      said += String(text);
      return true;
    });
    introduce();
    vi.restoreAllMocks();
    return said;
  }

  it.each([80, 120])('fits a terminal of %i columns', async (columns) => {
    const said = introduction(columns);
    for (const line of said.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns);
    await expect(said.replace(/ \d+\.\d+\.\d+ is/, ' VERSION is')).toMatchFileSnapshot(
      `../snapshots/terminal/introduction-${columns}.txt`,
    );
  });

  it.runIf(existsSync(SCRIPT))('is answered at once on a terminal, with the command that sets up', () => {
    home = tempHome();
    const said = execFileSync(SCRIPT, ['-qec', `'${process.execPath}' '${MAIN}'`, '/dev/null'], {
      cwd: home,
      env: { ...bridgeEnv(home), TERM: 'xterm' },
      encoding: 'utf8',
      timeout: HANGS_MS,
    });
    expect(said).toContain('is an MCP server');
    expect(said.replace(/\\\r\n\s+/g, '')).toContain('main.js setup');
  });
});
