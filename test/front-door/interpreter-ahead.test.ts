// Interpreters that wait for their program: each program finds, does and says what it does in one that was started for it.
// Through a real client, in real images; skipped where nobody has built them.

import { execFileSync } from 'node:child_process';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readText } from '../../src/base/files/read-text.js';
import { firstOfAnyBundle } from '../../src/engine/machine/bundles.js';
import { suiteWithImage } from '../support/built-image.js';
import { engineCommand } from '../support/engine-under-test.js';
import { descendantPids, descendants, runningSandboxes } from '../support/nothing-left.js';
import { hostileServer, type Payload, startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually, HANGS_MS } from '../support/time.js';

type Program = { readonly code: string; readonly [more: string]: unknown };

/** What waits, as `ps` calls it; its own words behind would be those of a program that was started as always. */
const WAITS: Readonly<Record<string, RegExp>> = {
  javascript: /^node \/ipc\/javascript\/run\.cjs ?$/m,
  typescript: /^node --enable-source-maps \/ipc\/javascript\/run\.cjs ?$/m,
  ruby: /^ruby -r\/ipc\/ruby\/wait\.rb \.\/main\.rb ?$/m,
};
/** Prints the command that its interpreter was started by, which tells; it does not say where it looks, or would be told apart. */
const COMMAND: Readonly<Record<string, string>> = {
  javascript:
    "console.log(require('fs').readFileSync('/pr' + 'oc/self/cmdline', 'utf8').replaceAll('\\0', ' '))",
  typescript:
    "console.log(require('fs').readFileSync('/pr' + 'oc/self/cmdline', 'utf8').replaceAll('\\0', ' '))",
  ruby: "puts File.read('/pr' + 'oc/self/cmdline').tr(\"\\0\", ' ')",
};

const jsFiles = [
  {
    filename: 'lib/util.js',
    content: 'exports.add = (a, b) => a + b; exports.main = require.main === module;',
  },
  { filename: 'data.json', content: '{"k": 7}' },
];
const javascript: Readonly<Record<string, Program>> = {
  hello: { code: 'console.log("hello")' },
  words: {
    code: 'console.log(process.argv.slice(1), process.argv0, process.execPath, process.execArgv, process.title)',
    args: ['', 'a b', '--flag', 'é 漢', 'two\nlines'],
  },
  itself: {
    code: 'console.log(__filename, __dirname, require.main === module, module.id, module.paths, Object.keys(require.cache), process.cwd(), process.ppid, typeof mcp)',
  },
  'another name': {
    code: 'console.log(__filename, require.main.filename)',
    entrypoint_filename: 'lib/app.js',
  },
  'standard input': {
    code: 'process.stdin.on("data", (d) => console.log(String(d), process.stdin.constructor.name))',
    stdin: 'in\né',
  },
  'standard input by its descriptor': {
    code: 'console.log(require("fs").readFileSync(0, "utf8"))',
    stdin: 'in',
  },
  'no standard input': {
    code: 'process.stdin.on("end", () => console.log("end")).resume(); console.log(require("fs").fstatSync(0).isFile())',
  },
  require: {
    code: 'const { add, main } = require("./lib/util"); console.log(add(1, 2), main, require("./data.json").k)',
    additional_files: jsFiles,
  },
  import: {
    code: 'import fs from "node:fs"; import { add } from "./lib/util.mjs"; console.log(add(1, await 2), typeof fs.readFileSync, import.meta.url)',
    additional_files: [{ filename: 'lib/util.mjs', content: 'export const add = (a, b) => a + b;' }],
  },
  'a module by its name': {
    code: 'console.log(typeof require, typeof module, import.meta.filename ?? import.meta.url)',
    entrypoint_filename: 'main.mjs',
  },
  'both kinds': { code: 'const os = require("os"); console.log(await Promise.resolve(os.EOL === "\\n"))' },
  'an exit code': { code: 'process.on("exit", (code) => console.log("bye", code)); process.exit(7)' },
  exitCode: { code: 'process.exitCode = 3' },
  thrown: { code: 'function f() {\n  throw new TypeError("no");\n}\nf();' },
  'thrown in a module': { code: 'import "node:fs";\nnull.x;' },
  rejected: { code: 'Promise.reject(new Error("no"))' },
  'no syntax': { code: 'let x = ;' },
  'not there': { code: 'require("left-pad")' },
  'import of what is not there': { code: 'import "left-pad"' },
  killed: { code: 'process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 1e6)' },
  'a handled signal': {
    code: 'process.on("SIGUSR2", () => { console.log("got"); process.exit(0) }); setTimeout(() => {}, 1e6); process.kill(process.pid, "SIGUSR2")',
  },
  aborted: { code: 'process.abort()' },
  timers: {
    code: 'const t = Date.now(); setTimeout(() => console.log("late", Date.now() - t >= 99), 100); setTimeout(() => console.log("soon"), 1); setImmediate(() => console.log("immediate")); process.nextTick(() => console.log("tick")); Promise.resolve().then(() => console.log("micro")); console.log("first")',
  },
  'child processes': {
    code: 'const { spawnSync, fork } = require("child_process"); console.log(spawnSync("node", ["-p", "process.argv.length + process.execArgv.length"], { encoding: "utf8" }).stdout); if (!process.send) fork(__filename).on("exit", (code) => console.log("child", code)); else process.exit(5)',
  },
  'a worker': {
    code: 'const { Worker, isMainThread } = require("worker_threads"); if (isMainThread) new Worker(__filename).on("exit", (code) => console.log("worker", code)); else { console.log(process.argv.length, process.execArgv); process.exit(2) }',
  },
  environment: {
    code: 'console.log(Object.keys(process.env).sort(), process.env.NODE_OPTIONS)',
    env: { A: 'b' },
  },
  'the environment as it is': {
    code: 'console.log(JSON.stringify(Object.entries(process.env).filter(([k]) => k !== "HOSTNAME").sort()))',
  },
  memory: { code: 'const all = []; for (;;) all.push(new Array(1e6).fill({}))', timeout_seconds: 60 },
  'much output': { code: 'process.stdout.write("x".repeat(9_000) + "\\n", () => console.log("flushed"))' },
  'an empty file': { code: '' },
  'descriptors and limits': {
    code: 'console.log(require("child_process").spawnSync("sh", ["-c", "ulimit -n; ulimit -u; ulimit -v; umask; ls -A"], { encoding: "utf8" }).stdout)',
  },
  tools: {
    servers: ['my-server'],
    code: 'console.log(mcp.listServers(), Object.keys(process.env).filter((k) => k.startsWith("MCP")))',
  },
};
const typescript: Readonly<Record<string, Program>> = {
  hello: { code: 'const word: string = "hello";\nconsole.log(word)' },
  words: { code: 'console.log(process.argv.slice(1), process.execArgv)', args: ['a'] },
  thrown: { code: 'type A = string;\n\n\nfunction f(a: A) {\n  throw new Error(a);\n}\nf("no");' },
  awaits: {
    code: 'import { add } from "./lib";\nconst n: number = await Promise.resolve(add(1, 2));\nconsole.log(n, typeof require, __filename)',
    additional_files: [
      { filename: 'lib.ts', content: 'export const add = (a: number, b: number): number => a + b;' },
    ],
  },
  'no syntax': { code: 'const a: = 1' },
  'standard input': { code: 'process.stdin.on("data", (d: Buffer) => console.log(String(d)))', stdin: 'in' },
};
const ruby: Readonly<Record<string, Program>> = {
  hello: { code: 'puts "hello"' },
  itself: {
    code: 'p $0, __FILE__, __dir__, $PROGRAM_NAME, __method__, self, caller, Dir.pwd, Process.ppid, TOPLEVEL_BINDING.local_variables, binding.local_variables, Dir.children(".").sort, Process.getpgrp == Process.pid\nx = 1',
  },
  words: {
    code: 'p ARGV, ARGV.map(&:encoding), ARGV.map(&:frozen?), $*.equal?(ARGV)',
    args: ['', 'a b', '--flag', 'é 漢', 'two\nlines'],
  },
  'reads the files that it names': {
    code: 'puts ARGF.read',
    args: ['a.txt'],
    additional_files: [{ filename: 'a.txt', content: 'text' }],
  },
  'as main': { code: 'puts "main" if __FILE__ == $0' },
  data: {
    code: 'puts DATA.read, DATA.lineno, DATA.class, DATA.path\nDATA.rewind\nputs DATA.readline\n__END__\none\ntwo',
  },
  requires: {
    code: 'require "json"\nrequire "set"\nrequire_relative "lib/a"\n$LOAD_PATH.unshift "."\nrequire "lib/b"\nputs JSON.generate({ a: A, b: B })',
    additional_files: [
      { filename: 'lib/a.rb', content: 'A = 1' },
      { filename: 'lib/b.rb', content: 'B = __FILE__' },
    ],
  },
  'another name': { code: 'p $0, Dir.children(".").sort', entrypoint_filename: 'app.rb' },
  'a first line': { code: '#!/usr/bin/env ruby\n# frozen_string_literal: true\np "a".frozen?' },
  'a comment of its own': { code: '# frozen_string_literal: true\np "a".frozen?, __ENCODING__' },
  'standard input': { code: 'p STDIN, $stdin.read, ARGV', stdin: 'in' },
  'no standard input': { code: 'p STDIN, $stdin.read, $stdin.tty?' },
  'at the end': {
    code: 'at_exit { puts "bye"; exit 4 }\nEND { puts "END" }\nBEGIN { puts "BEGIN" }\nexit 3',
  },
  'an exit code': { code: 'exit!(9)' },
  aborted: { code: 'abort "no"' },
  raised: { code: 'def f(a)\n  a.nope\nend\n\nf(nil)' },
  'raised deep': { code: 'begin\n  raise "a"\nrescue => e\n  raise ArgumentError, "b"\nend' },
  'no syntax': { code: 'def f(\n  puts' },
  'not there': { code: 'require "left_pad"' },
  killed: { code: 'Process.kill(:TERM, $$); sleep' },
  trapped: { code: 'trap(:USR1) { puts "got"; exit 0 }\nProcess.kill(:USR1, $$); sleep' },
  'stands alone': {
    code: 'p Thread.list.size, ObjectSpace.each_object(File).map(&:path).reject { |path| path.start_with?("/usr") }, $VERBOSE, $DEBUG, $;, $/',
  },
  processes: {
    code: 'puts `echo $0; ls -A`\np $?.exitstatus, Process.wait2(fork { exit 5 })[1].exitstatus, system("ruby", "-e", "p ARGV", "x")',
  },
  environment: { code: 'p ENV.to_h.reject { |key, _| key == "HOSTNAME" }.sort' },
  'more of it': { code: 'p ENV["A"]', env: { A: 'b' } },
  returns: { code: 'puts 1\nreturn\nputs 2' },
  'an empty file': { code: '' },
  'what is printed at once': { code: '$stdout.write("a"); $stderr.write("b"); p $stdout.sync' },
  'what is left': {
    code: 'File.write("out/a.txt", "x"); puts File.stat("main.rb").size, File.read(__FILE__)',
  },
};

const CALLS = 3;
/** Ends the process of a sandbox that runs this program. */
const KILL = `
import os, sys
for name in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{name}/cmdline") as line:
        if line.read().split("\\0")[0] == sys.argv[1]:
            os.kill(int(name), 9)
`;

const TABLES = { javascript, typescript, ruby } as const;

async function run(bridge: TestBridge, language: string, { code, ...more }: Program): Promise<Payload> {
  const args = { language, entrypoint_code: code, ...more };
  const result = (await bridge.client.callTool({ name: 'execute_code', arguments: args }, undefined, {
    timeout: HANGS_MS,
  })) as CallToolResult;
  return result.structuredContent as Payload;
}

/** What a caller hears of a run, but for how long it took. */
function said(payload: Payload) {
  const { durationMs: _, summary, ...rest } = payload as Payload & { readonly durationMs: number };
  const stderr = rest.stderr?.map((line) => line.replaceAll(/0x[0-9a-f]+/g, 'an address'));
  return { ...rest, stderr, summary: summary.replace(/[\d.]+ s/, 'some time') };
}

/** Command lines of the processes in the sandbox of the bridge; the engine knows only of one that it has started. */
function linesIn(bridge: TestBridge, name: string): string {
  const first = firstOfAnyBundle(bridge.stateDir, name);
  if (first !== undefined) return descendants(first.pid).join('\n');
  try {
    return engineCommand('top', name, 'args');
  } catch {
    // One that is on its way out has no list of processes.
    return '';
  }
}

/** Kills the processes of the sandbox whose program this is, from where the engine works. */
function killIn(bridge: TestBridge, name: string, program: string): void {
  const first = firstOfAnyBundle(bridge.stateDir, name);
  if (first === undefined) {
    engineCommand('exec', name, 'python3', '-c', KILL, program);
    return;
  }
  const pids = descendantPids(first.pid).filter((pid) => programOf(pid) === program);
  expect(pids).not.toEqual([]);
  const kill = ['kill', '-9', ...pids.map(String)];
  const [command = '', ...args] = process.getuid?.() === 0 ? kill : ['podman', 'unshare', ...kill];
  execFileSync(command, args);
}
const programOf = (pid: number): string => (readText(`/proc/${pid}/cmdline`) ?? '').split('\0')[0] ?? '';

/** The sandbox of the bridge in which its interpreter waits; '' for none. */
const waitingIn = (bridge: TestBridge, language: string): string =>
  runningSandboxes().find((name) => WAITS[language]?.test(linesIn(bridge, name))) ?? '';
const isWaiting = (bridge: TestBridge, language: string): Promise<boolean> =>
  eventually(() => waitingIn(bridge, language) !== '');

describe.each([
  ['javascript', 'javascript'],
  ['typescript', 'javascript'],
  ['ruby', 'ruby'],
] as const)('%s', (language, image) => {
  suiteWithImage(image, 'its interpreter ahead', () => {
    let cold: TestBridge;
    let warm: TestBridge;
    beforeAll(async () => {
      const env = {
        MCP_BRIDGE_TOOLS: 'execute_code',
        MCP_BRIDGE_LANGUAGES: language,
        MCP_BRIDGE_AUDIT: 'off',
      };
      const servers = { 'my-server': hostileServer() };
      cold = await startBridge(servers, { env: { ...env, MCP_BRIDGE_WARM: '0' } });
      warm = await startBridge(servers, { env: { ...env, MCP_BRIDGE_WARM: '1' } });
    });
    afterAll(async () => {
      await cold[Symbol.asyncDispose]();
      await warm[Symbol.asyncDispose]();
    });

    it('does not wait before its first use, and does from then on', async () => {
      await warm.client.listTools();
      expect(await eventually(() => runningSandboxes().length === 1)).toBe(true);
      const command = async () =>
        (await run(warm, language, { code: COMMAND[language] ?? '' })).stdout?.join('\n');
      expect(await command()).not.toMatch(WAITS[language] as RegExp);
      expect(await isWaiting(warm, language)).toBe(true);
      expect(await command()).toMatch(WAITS[language] as RegExp);
    });

    it('serves one call: the next one finds nothing of it', async () => {
      const seen = language === 'ruby' ? '$seen' : 'globalThis.seen';
      const code =
        language === 'ruby'
          ? `puts ${seen}.inspect; ${seen} = 1`
          : `console.log(${seen} ?? 'nil'); ${seen} = 1`;
      for (let call = 0; call < CALLS; call++) {
        expect(await isWaiting(warm, language)).toBe(true);
        expect((await run(warm, language, { code })).stdout).toEqual(['nil']);
      }
    });

    it('costs nobody a call when it dies while it waits', async () => {
      expect(await isWaiting(warm, language)).toBe(true);
      killIn(warm, waitingIn(warm, language), language === 'ruby' ? 'ruby' : 'node');
      const command = (await run(warm, language, { code: COMMAND[language] ?? '' })).stdout?.join('\n');
      expect(command).toContain('main.');
      expect(command).not.toMatch(WAITS[language] as RegExp);
    });

    it.each(Object.entries(TABLES[language]))('%s: as in one that was started for it', async (_, program) => {
      const expected = said(await run(cold, language, program));
      expect(await isWaiting(warm, language)).toBe(true);
      expect(said(await run(warm, language, program))).toEqual(expected);
    });
  });
});
