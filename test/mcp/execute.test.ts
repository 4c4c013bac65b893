// The tool `execute` without a sandbox or a server: what is handed on, and what is made of how it ended.

import { describe, expect, it } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import { CappedOutput } from '../../src/code-exec/capped-output.js';
import { MAX_ANSWER_CHARS } from '../../src/code-exec/execute-result.js';
import type { CommandEnd } from '../../src/code-exec/run-command.js';
import { capabilities, instructions } from '../../src/mcp/resources/capabilities.js';
import type { ToolAnswer } from '../../src/mcp/tools/definitions.js';
import { execute } from '../../src/mcp/tools/execute.js';
import { showStrings } from '../../src/run/answer/payload.js';
import { byCommandLine, COMMAND_LINE } from '../../src/run/calls/call-context.js';
import type { ServerCall } from '../../src/run/life/direct-call.js';
import type { CommandInput, CommandOutcome } from '../../src/run/life/sandboxed-command.js';
import { outcomeWithoutRun } from '../../src/run/outcome/outcome.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import type { Bridge } from '../../src/tenant/bridge.js';
import { NEVER } from '../support/time.js';

const toolOf = (env: Record<string, string>) =>
  execute(
    parseSettings(env, { home: '/h', platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false })
      .settings,
  );
type CalledBridge = { readonly client?: string; readonly [member: string]: unknown };
const call = (bridge: CalledBridge, args: unknown, env: Record<string, string> = {}): Promise<ToolAnswer> =>
  toolOf(env).call(
    args,
    {
      ...byCommandLine(NEVER),
      caller: { ...COMMAND_LINE, client: bridge.client ?? '' },
    },
    bridge as unknown as Bridge,
  );
type OwnEnd = Partial<Omit<CommandEnd, 'output' | 'durationMs'>>;
const NO_END = { exitCode: undefined, signal: undefined, killedFor: undefined, notStarted: undefined };
/** A bridge whose command writes `printed` and ends so, called by `client`. */
const bridgeWith = (end: OwnEnd, printed = '', seen: CommandInput[] = [], client = 'a client 1.0') => ({
  client,
  runCommand: (input: CommandInput): Promise<CommandOutcome> => {
    seen.push(input);
    const output = new CappedOutput(input.command.maxOutputBytes);
    output.add('stdout', Buffer.from(printed));
    return Promise.resolve({ end: { ...NO_END, ...end, output, durationMs: 5 }, whole: {} });
  },
});

describe('in a container', () => {
  it('hands on what it is called with', async () => {
    const seen: CommandInput[] = [];
    const args = { command: 'ls', args: ['-l', 'a b'], cwd: '../tmp', timeout_ms: 1500 };
    await call(bridgeWith({ exitCode: 0 }, '', seen), args);
    const where = { stdin: undefined, cwd: '/tmp', env: {}, maxOutputBytes: 40_000, shownBytes: 40_000 };
    const command = { argv: ['ls', '-l', 'a b'], ...where };
    expect(seen).toEqual([{ command, timeoutSeconds: 1.5 }]);
  });

  it('shows no more output than the host shows its model', async () => {
    const answer = await call(
      bridgeWith({ exitCode: 0 }, 'x'.repeat(30_000), [], 'codex-mcp-client 0.169.0'),
      {
        command: 'x',
      },
    );
    const { result } = answer as unknown as { result: { content: [{ text: string }] } };
    expect(result.content[0].text.length).toBeLessThan(12_000);
    expect(result.content[0].text).toMatch(/^x{4,}\n\[… \d+ of 30000 bytes left out …\]\nx{4,}$/);
  });

  it.each<[string, OwnEnd, string, boolean]>([
    ['success', { exitCode: 0 }, 'out', false],
    ['a status', { exitCode: 3 }, '[exit status 3]\nout', false],
    ['a signal', { signal: 'SIGSEGV' }, '[ended by SIGSEGV]\nout', false],
    ['a timeout', { killedFor: 'timeout' }, '[killed after its timeout of 30000 ms]\nout', true],
    ['no start', { notStarted: '`x` is not there.' }, '[not started: `x` is not there.]\nout', true],
  ])('%s', async (_how, end, text, isError) => {
    expect(await call(bridgeWith(end, 'out\n'), { command: 'x' })).toMatchObject({
      result: { content: [{ type: 'text', text }], isError },
      isRelayed: false,
    });
  });

  it('tells its own lines from the command’s, where that has printed such a line', async () => {
    const answer = await call(bridgeWith({ exitCode: 1 }, '[exit status 0]\u200b\n'), { command: 'x' });
    const { result } = answer as unknown as { result: { content: [{ text: string }] } };
    expect(result.content[0].text).toMatch(
      /^(\[bridge \w{4}\]) Only lines .*\n\1 \[exit status \d\]\n\[exit status 0\]\\u200b$/,
    );
  });

  it('has a mark for the line in the middle of long output too, which nothing before it can swallow', async () => {
    const env = { MCP_EXEC_MAX_OUTPUT_BYTES: '100' };
    const printed = `=> 1\n${'x'.repeat(30)}\u001b]0;${'y'.repeat(100)}\u0007z`;
    const answer = await call(bridgeWith({ exitCode: 0 }, printed), { command: 'x' }, env);
    const { result } = answer as unknown as { result: { content: [{ text: string }] } };
    expect(result.content[0].text).toMatch(/^\[bridge \w{4}\] \[… \d+ of \d+ bytes left out …\]$/m);
  });

  it('what is not the command’s own end is told as of every run', async () => {
    const error = { type: 'E_MEMORY', message: 'Memory limit 512 MB exceeded.', remedy: undefined };
    const failed = outcomeWithoutRun('error', error, 30);
    const runCommand = (): Promise<CommandOutcome> => Promise.resolve({ failed });
    expect(await call({ runCommand, client: '' }, { command: 'x' })).toBe(failed);
  });

  it('cuts output by bytes, between characters', async () => {
    const answer = await call(
      bridgeWith({ exitCode: 0 }, 'é'.repeat(1000)),
      { command: 'x' },
      { MCP_EXEC_MAX_OUTPUT_BYTES: '101' },
    );
    const { stdout, stdoutBytes } = (
      answer as unknown as { result: { structuredContent: Record<string, unknown> } }
    ).result.structuredContent;
    expect([stdout, stdoutBytes]).toEqual([
      `${'é'.repeat(25)}\n[… 1900 of 2000 bytes left out …]\n${'é'.repeat(25)}`,
      2000,
    ]);
  });
});

describe('handed to a server', () => {
  const env = { MCP_BRIDGE_EXECUTE_SERVER: 'sandbox' };

  it('relays what it answers, as it is', async () => {
    const seen: ServerCall[] = [];
    const result = { content: [{ type: 'text', text: 'x' }], structuredContent: { a: [1] }, more: true };
    const callServer = (asked: ServerCall) => {
      seen.push(asked);
      return Promise.resolve(new RawJson(JSON.stringify(result)));
    };
    const args = { command: 'ls', timeout_ms: 2000, whatever: 1 };
    expect(await call({ callServer }, args, env)).toEqual({ result, isRelayed: true });
    expect(seen).toEqual([
      {
        ...{ server: 'sandbox', tool: 'execute', setBy: 'MCP_BRIDGE_EXECUTE_SERVER', args },
        ...{ timeoutSeconds: 2, softTimeoutSeconds: 32 },
      },
    ]);
  });

  it('cuts what is longer than any answer of ours, and says so', async () => {
    const content = [{ type: 'text', text: `begin${'\u0001'.repeat(4_000_000)}end` }, { type: 'image' }];
    const raw = new RawJson(JSON.stringify({ content, structuredContent: { exitCode: 3 }, isError: false }));
    const answer = await call({ callServer: () => Promise.resolve(raw) }, { command: 'ls' }, env);
    expect(JSON.stringify(answer).length).toBeLessThan(MAX_ANSWER_CHARS);
    expect(answer).toEqual({
      result: {
        content: [
          {
            type: 'text',
            text: expect.stringMatching(/^\[the server's answer has 24\d+ characters, too many to pass on/),
          },
          { type: 'text', text: expect.stringMatching(/^begin.*\d+ characters dropped.*end$/s) },
        ],
        isError: false,
      },
      isRelayed: true,
    });
  });

  it('counts an answer as it is sent, where what does not show is an escape', async () => {
    const content = [{ type: 'text', text: '\u200b'.repeat(2_000_000) }];
    const raw = new RawJson(JSON.stringify({ content }));
    const answer = await call({ callServer: () => Promise.resolve(raw) }, { command: 'ls' }, env);
    expect(JSON.stringify(showStrings(answer)).length).toBeLessThan(MAX_ANSWER_CHARS);
    expect(answer).toMatchObject({ result: { content: [{ text: expect.stringContaining('14000') }, {}] } });
  });

  it('what stands in the way is an error with its next step', async () => {
    const callServer = () => Promise.resolve({ type: 'E_DENIED', message: 'No.', remedy: 'Ask.' });
    expect(await call({ callServer }, { command: 'ls' }, env)).toMatchObject({
      status: 'error',
      error: { type: 'E_DENIED', message: 'No.', remedy: 'Ask.' },
    });
  });
});

describe('what a host is told of it', () => {
  it('says nothing of code and servers where it is the only tool', () => {
    const offer = { tools: ['execute'], languages: [] } as const;
    expect(instructions(['github'], offer)).toMatch(/^execute runs one command/);
    expect(instructions(['github'], offer)).not.toContain('github');
    expect(capabilities(['github'], offer)).not.toMatch(/github|run_python/);
  });

  it('has a line of its own beside the other tools', () => {
    const text = instructions(['github'], { tools: ['run_python', 'execute'], languages: [] });
    expect(text).toContain('github');
    expect(text.split('\n').at(-1)).toMatch(/^execute runs one command/);
    expect(text.length).toBeLessThan(1_200);
  });

  it('takes few words in the instructions', () => {
    expect(JSON.stringify(toolOf({}).definition).length).toBeLessThan(1_250);
  });
});
