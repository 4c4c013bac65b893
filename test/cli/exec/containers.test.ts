// `exec` with real containers: what a shell gets of a program.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isBuilt } from '../../support/built-image.js';
import { bridgeEnv, MAIN, tempHome } from '../../support/start-bridge.js';
import { command } from '../command.js';

let home: string;
beforeEach(() => {
  home = tempHome();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(file: string, content: string): void {
  mkdirSync(dirname(join(home, file)), { recursive: true });
  writeFileSync(join(home, file), content);
}
const exec = (args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}) =>
  command(['exec', ...args], { home, input, env });

it.skipIf(!isBuilt('go'))(
  'Go with a package beside it: arguments, both streams, and its own exit code',
  async () => {
    put(
      'cmd/main.go',
      `package main

import (
	"fmt"
	"main/util"
	"os"
)

func main() {
	fmt.Println(util.Greeting, os.Args[1:])
	fmt.Fprint(os.Stderr, "err\\n")
	os.Exit(3)
}
`,
    );
    put('cmd/util/util.go', 'package util\n\nconst Greeting = "hi"\n');
    const args = ['--language', 'go', 'cmd/main.go', '--file', 'cmd/util/util.go', '--', '-v', 'a b'];
    expect(await exec(args)).toMatchObject({ stdout: 'hi [-v a b]\n', stderr: 'err\n', exitCode: 3 });
  },
);

it.skipIf(!isBuilt('javascript'))('runs JavaScript from stdin and prints JSON', async () => {
  const { stdout, exitCode } = await exec(
    ['--language', 'js', '-', '--json'],
    'process.stdout.write("out\\r\\n\\u001b[31m"); console.error("err"); process.exitCode = 4',
  );
  expect(stdout.endsWith('}\n')).toBe(true);
  expect(JSON.parse(stdout)).toEqual({
    status: 'error',
    exitCode: 4,
    stdout: 'out\r\n\u001b[31m',
    stderr: 'err\n',
    durationMs: expect.any(Number),
    error: expect.stringContaining('exit status 4'),
  });
  expect(exitCode).toBe(4);
});

it('runs Python with a large input and output whole, files in and out, and no traceback twice', async () => {
  put('data/in.txt', 'in');
  put(
    'job.py',
    `import sys
text = sys.stdin.read()
sys.stdout.write(text * 2 + open("data/in.txt").read())
open("out/result.txt", "w").write("left")
1 / 0
`,
  );
  const args = ['job.py', '--file', 'data/in.txt', '--stdin', '-', '--out', 'results'];
  const input = 'line\n'.repeat(500_000);
  const { stdout, stderr, exitCode } = await exec(args, input);
  expect(stdout === `${input}${input}in`).toBe(true);
  expect(stderr.match(/ZeroDivisionError/g)).toHaveLength(1);
  expect(stderr).toMatch(/^Traceback/);
  expect(readFileSync(join(home, 'results/result.txt'), 'utf8')).toBe('left');
  expect(exitCode).toBe(1);
});

it('variables that it names, and none of ours', async () => {
  put('a.py', 'import os\nprint(os.environ["A"], os.environ.get("CANARY"))\n');
  const { stdout } = await exec(['a.py', '--env', 'A=b=c', '--env', 'B='], '', { CANARY: 'canary' });
  expect(stdout).toBe('b=c None\n');
});

it('a timeout, after which there is what the program had printed', async () => {
  put('prompts/endless.py', 'print("begun", flush=True)\nwhile True: pass\n');
  const env = { MCP_BRIDGE_SNIPPETS: join(home, 'prompts') };
  const { stdout, exitCode } = await exec(['--snippet', 'endless', '--timeout', '3', '--json'], '', env);
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'timeout',
    exitCode: -1,
    stdout: 'begun\n',
    error: expect.stringContaining('Timed out after 3 s.'),
  });
  expect(exitCode).toBe(124);
});

it('a reader that has gone ends it, as it ends any program', async () => {
  put('endless.py', 'while True: print("line")\n');
  const child = spawn(process.execPath, [MAIN, 'exec', 'endless.py', '--timeout', '60'], {
    cwd: home,
    env: bridgeEnv(home),
  });
  const stderr = text(child.stderr);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const [exitCode] = await once(child, 'exit');
  expect(exitCode).toBe(141);
  expect(await stderr).toBe('');
});

it('an image that is not there: the command that makes one', async () => {
  put('a.py', '1');
  const env = { MCP_BRIDGE_IMAGE: 'localhost/absent:1' };
  const { stdout, stderr, exitCode } = await exec(['a.py'], '', env);
  expect(stderr).toMatch(/localhost\/absent:1 is not here.*image build/s);
  expect(stdout).toBe('');
  expect(exitCode).toBe(1);
});
