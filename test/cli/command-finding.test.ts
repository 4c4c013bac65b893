// What doctor says of commands, by who runs them and how one that does nothing has ended.

import { describe, expect, it } from 'vitest';
import { examineCommands } from '../../src/cli/doctor/findings.js';

type Subject = Parameters<typeof examineCommands>[0];

const subject = (settings: object, outcome: object = { status: 'success', durationMs: 1_320 }): Subject =>
  ({
    settings: { tools: ['execute'], executeOciRuntime: 'runsc', executeNetwork: false, ...settings },
    discovery: { ready: [{ name: 'sandbox' }] },
    pad: () => Promise.resolve({ error: new Error('no engine') }),
    commandTrial: () => Promise.resolve(outcome),
  }) as unknown as Subject;

describe('commands', () => {
  it('are not spoken of where agents do not see the tool', async () => {
    expect(await examineCommands(subject({ tools: ['run_python'] }))).toBeUndefined();
  });

  it('say what they run under, and what stays', async () => {
    expect(await examineCommands(subject({ executeWork: 'mine', executeNetwork: true }))).toEqual({
      status: 'ok',
      detail: expect.stringMatching(/under runsc; with a network; \/work stays in mine$/),
    });
  });

  it('that cannot start say why, with the next step; an engine that is missing is told elsewhere', async () => {
    const failed = { status: 'error', error: { message: 'No runsc.', remedy: 'Install it.' } };
    const told = { status: 'fail', detail: 'No runsc.', remedy: 'Install it.' };
    expect(await examineCommands(subject({}, failed))).toEqual(told);
    expect(await examineCommands(subject({ executeOciRuntime: undefined }, failed))).toBeUndefined();
  });

  it('are handed to a server that is there', async () => {
    const ready = await examineCommands(subject({ executeServer: 'sandbox' }));
    expect(ready).toEqual({ status: 'ok', detail: "run by the server 'sandbox'" });
    expect(await examineCommands(subject({ executeServer: 'sandbx' }))).toMatchObject({ status: 'fail' });
  });
});
