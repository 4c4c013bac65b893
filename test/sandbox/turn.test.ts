// Every turn of the conversation with a sandbox against every frame that may come and every wish that we may have: what
// leads on is listed, and all the rest is refused.

import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  afterGuest,
  afterSupervisor,
  beginCheck,
  beginRun,
  endsBetweenCalls,
  mayRest,
  type RunHandlers,
  type SandboxTurn,
  wasGivenRun,
} from '../../src/sandbox/conversation/turn.js';
import type { GuestFrame, ProgramStart, RunFrame, SupervisorFrame } from '../../src/wire/frames.js';

const error = { type: 'SyntaxError', message: 'no', traceback: [] };
const SUPERVISOR: { readonly [T in SupervisorFrame['type']]: Extract<SupervisorFrame, { type: T }> } = {
  hello: { type: 'hello', protocol: 1, harness: '0', python: '3' },
  unloaded: { type: 'unloaded', module: 'm', error: 'e' },
  checked: { type: 'checked', named: [] },
  refused: { type: 'refused', error },
  output: { type: 'output', stream: 'stdout', text: 'x', base64: null },
  ended: { type: 'ended', code: 0, signal: null },
  file: { type: 'file', name: 'a', data: '' },
  answered: { type: 'answered', code: 0, goesOn: false, memoryKills: null },
  restless: { type: 'restless' },
  skipped: { type: 'skipped', files: [], more: 0 },
  exited: { type: 'exited', code: 3, signal: null, memoryKills: null },
};
const CALL: GuestFrame = { type: 'call', id: 1, method: 'servers.list', params: {} };
const RAISED = { type: 'raised', error } as unknown as GuestFrame;
const FRAMES = Object.keys(SUPERVISOR) as ReadonlyArray<SupervisorFrame['type']>;

const heard = vi.fn();
const handlers: RunHandlers = { onOutput: heard, onGuest: heard, onFile: heard, onGuestEnd: heard };
const ofRun = { handlers, hasLastWord: false };
const TURNS: { readonly [A in SandboxTurn['at']]: Extract<SandboxTurn, { at: A }> } = {
  starting: { at: 'starting', onHello: heard },
  waiting: { at: 'waiting', hasProgram: true, isAsItWas: true },
  checking: {
    at: 'checking',
    onAnswer: heard,
    startedAt: performance.now(),
    isAsItWas: true,
    heldBack: { frames: [], chars: 0 },
  },
  running: { at: 'running', ...ofRun, isSession: false },
  reported: { at: 'reported', ...ofRun, report: { code: 0, signal: null } },
};
const NAMES = Object.keys(TURNS) as ReadonlyArray<SandboxTurn['at']>;

const internal = expect.objectContaining({ code: 'E_INTERNAL' });
const RUN: RunFrame = {
  type: 'run',
  timeoutSeconds: 5,
  loaded: [],
  discovered: [],
  files: [],
  program: null,
};
const program: ProgramStart = {
  file: 'main.sh',
  args: [],
  stdin: null,
  ways: [{ needs: ['sh'], steps: [['sh', './main.sh']] }],
};

/** Where a frame leads, by turn; what is not listed is out of turn. */
const LEADS_TO: {
  readonly [A in SandboxTurn['at']]: Partial<Record<SupervisorFrame['type'], SandboxTurn['at']>>;
} = {
  starting: { hello: 'waiting', unloaded: 'starting' },
  waiting: { unloaded: 'waiting' },
  checking: { unloaded: 'checking', checked: 'waiting', refused: 'waiting' },
  running: {
    output: 'running',
    ended: 'running',
    file: 'running',
    skipped: 'running',
    exited: 'reported',
  },
  reported: {
    output: 'reported',
    ended: 'reported',
    file: 'reported',
    skipped: 'reported',
    exited: 'reported',
  },
};

describe.each(NAMES)('in the turn %s', (at) => {
  const turn = TURNS[at];
  const isOfRun = at === 'running' || at === 'reported';

  it.each(FRAMES)('`%s` of the supervisor leads on or is refused', (type) => {
    heard.mockClear();
    const step = afterSupervisor(turn, SUPERVISOR[type]);
    expect(step?.next.at).toBe(LEADS_TO[at][type]);
    // The turn has begun before anybody hears of it.
    expect(heard).not.toHaveBeenCalled();
    step?.tell();
    expect(heard).toHaveBeenCalledTimes(step === undefined || type === 'unloaded' ? 0 : 1);
  });

  it('the guest is heard in its run only', () => {
    for (const frame of [CALL, RAISED])
      expect(afterGuest(turn, frame, '')?.next.at).toBe(isOfRun ? at : undefined);
  });

  it('a check is asked for, the run is given and the sandbox rests from `waiting` only', () => {
    if (at === 'waiting') {
      expect(beginCheck(turn, '1', heard).at).toBe('checking');
      expect(beginRun(turn, RUN, handlers).at).toBe('running');
      expect(beginRun(turn, { ...RUN, program }, handlers).at).toBe('running');
    } else {
      expect(() => beginCheck(turn, '1', heard)).toThrow(internal);
      expect(() => beginRun(turn, RUN, handlers)).toThrow(internal);
      expect(() => beginRun(turn, { ...RUN, program }, handlers)).toThrow(internal);
    }
    if (isOfRun) expect(() => mayRest(turn)).toThrow(internal);
    else expect(mayRest(turn)).toBe(at === 'waiting');
  });
});

describe('what a turn remembers', () => {
  const waiting = TURNS.waiting;

  it('only a check that passed leaves a program, and each check replaces what was there', () => {
    const checking = beginCheck(waiting, '1', heard);
    const refused = afterSupervisor(checking, SUPERVISOR.refused)?.next as SandboxTurn;
    expect(() => beginRun(refused, RUN, handlers)).toThrow(internal);
    expect(beginRun(refused, { ...RUN, program }, handlers).at).toBe('running');
    const again = afterSupervisor(beginCheck(refused, '1', heard), SUPERVISOR.checked)?.next as SandboxTurn;
    expect(beginRun(again, RUN, handlers).at).toBe('running');
  });

  it('code that is large, and an answer that took long, leave marks that no later check takes away', () => {
    const large = beginCheck(waiting, 'x'.repeat(100_001), heard);
    const slow = { ...TURNS.checking, startedAt: performance.now() - 300 };
    for (const marked of [large, slow]) {
      const after = afterSupervisor(marked, SUPERVISOR.checked)?.next as SandboxTurn;
      expect(mayRest(after)).toBe(false);
      const later = afterSupervisor(beginCheck(after, '1', heard), SUPERVISOR.checked)?.next as SandboxTurn;
      expect(mayRest(later)).toBe(false);
    }
  });

  it('the guest’s last word, before the report and after it', () => {
    expect(afterGuest(TURNS.running, CALL, '')?.next).toMatchObject({ hasLastWord: false });
    const last = afterGuest(TURNS.running, RAISED, '')?.next as SandboxTurn;
    expect(afterSupervisor(last, SUPERVISOR.exited)?.next).toEqual({
      at: 'reported',
      handlers,
      hasLastWord: true,
      report: SUPERVISOR.exited,
    });
    expect(afterGuest(TURNS.reported, RAISED, '')?.next).toMatchObject({ at: 'reported', hasLastWord: true });
  });
});

describe('a run that is sent with the check', () => {
  const named: typeof SUPERVISOR.checked = {
    type: 'checked',
    named: [{ server: 's', tool: 't', line: 1 }],
  };
  const hears: RunHandlers = { onOutput: vi.fn(), onGuest: vi.fn(), onFile: vi.fn() };
  const ahead = { frame: RUN, handlers: hears };
  const sent = () => beginCheck(TURNS.waiting, '1', heard, ahead);
  beforeEach(() => {
    heard.mockClear();
    vi.mocked(hears.onGuest).mockClear();
  });

  it('has begun where the code names no tool, and is told of as begun', () => {
    const step = afterSupervisor(sent(), SUPERVISOR.checked);
    expect(step?.next).toEqual({ at: 'running', handlers: hears, hasLastWord: false, isSession: false });
    step?.tell();
    expect(heard.mock.calls).toEqual([[{ type: 'begun' }]]);
  });

  it.each([named, SUPERVISOR.refused])('has not begun after another answer ($type)', (answer) => {
    const step = afterSupervisor(sent(), answer);
    expect(step?.next).toMatchObject({ at: 'waiting', hasProgram: answer.type === 'checked' });
    step?.tell();
    expect(heard.mock.calls).toEqual([[answer]]);
  });

  it('leaves no sandbox that waits for another run, whatever the answer', () => {
    for (const answer of [named, SUPERVISOR.refused])
      expect(mayRest(afterSupervisor(sent(), answer)?.next as SandboxTurn)).toBe(false);
  });

  it('a guest that is heard before the answer is heard after it, in its order', () => {
    const checking = sent();
    for (const frame of [CALL, RAISED]) afterGuest(checking, frame, frame.type)?.tell();
    expect(hears.onGuest).not.toHaveBeenCalled();
    const step = afterSupervisor(checking, SUPERVISOR.checked);
    expect(step?.next).toMatchObject({ at: 'running', hasLastWord: true });
    step?.tell();
    expect(vi.mocked(hears.onGuest).mock.calls).toEqual([
      [CALL, 'call'],
      [RAISED, 'raised'],
    ]);
  });

  it('a guest that has spoken where nothing has begun was out of turn', () => {
    const checking = sent();
    afterGuest(checking, CALL, '')?.tell();
    expect(afterSupervisor(checking, SUPERVISOR.refused)).toBeUndefined();
  });

  it('a guest that says more than could be said since the answer is out of turn', () => {
    const checking = sent();
    const megabyte = 'x'.repeat(1024 * 1024);
    const steps = Array.from({ length: 5 }, () => afterGuest(checking, CALL, megabyte));
    expect(steps.map((step) => step?.next.at)).toEqual([...Array(4).fill('checking'), undefined]);
  });

  it('code of an earlier call of the session is heard as such where nothing has begun', () => {
    const limits = { idleSeconds: 1, lifeSeconds: 1, keepRunning: true };
    const session = { name: 'n', handle: 's-1', call: 1, ageSeconds: 0, ...limits };
    const earlier = { ...TURNS.waiting, session: handlers };
    const checking = beginCheck(earlier, '1', () => {}, { frame: { ...RUN, session }, handlers: hears });
    afterGuest(checking, CALL, 'text')?.tell();
    afterSupervisor(checking, SUPERVISOR.refused)?.tell();
    expect([heard.mock.calls, vi.mocked(hears.onGuest).mock.calls]).toEqual([[[CALL, 'text']], []]);
    expect(() => beginCheck(earlier, '1', heard, ahead)).toThrow(internal);
  });
});

describe('in a session', () => {
  const limits = { idleSeconds: 1, lifeSeconds: 1, keepRunning: true };
  const session = { name: 'n', handle: 's-1', call: 1, ageSeconds: 0, ...limits };
  const onAnswered = vi.fn();
  const hears: RunHandlers = { ...handlers, onAnswered };
  const running = beginRun(TURNS.waiting, { ...RUN, session }, hears);
  const between = afterSupervisor(running, SUPERVISOR.answered)?.next as SandboxTurn;

  it('the end of a call leads back to waiting, and is told', () => {
    const step = afterSupervisor(running, SUPERVISOR.answered);
    step?.tell();
    expect(between.at).toBe('waiting');
    expect(onAnswered).toHaveBeenCalledWith(SUPERVISOR.answered);
  });

  it('it is asked to check and given a call again, and never a run of its own', () => {
    const checked = afterSupervisor(beginCheck(between, '1', heard), SUPERVISOR.checked)?.next as SandboxTurn;
    expect(beginRun(checked, { ...RUN, session }, hears)).toMatchObject({ at: 'running', isSession: true });
    expect(() => beginRun(checked, RUN, hears)).toThrow(internal);
    expect(() => beginRun(between, { ...RUN, session }, hears)).toThrow(internal);
  });

  it('it never waits for anybody else', () => {
    expect(wasGivenRun(between)).toBe(true);
    expect(wasGivenRun(beginCheck(between, '1', heard))).toBe(true);
    expect(() => mayRest(between)).toThrow(internal);
    expect(wasGivenRun(TURNS.waiting)).toBe(false);
  });

  it('between calls the guest is still heard, and may end', () => {
    heard.mockClear();
    afterGuest(between, CALL, 'text')?.tell();
    expect(heard).toHaveBeenCalledWith(CALL, 'text');
    expect(endsBetweenCalls(afterSupervisor(between, SUPERVISOR.exited)?.next as SandboxTurn)).toBe(true);
    expect(endsBetweenCalls(afterSupervisor(running, SUPERVISOR.exited)?.next as SandboxTurn)).toBe(false);
    expect(afterSupervisor(between, SUPERVISOR.restless)?.next).toEqual(between);
  });

  it('what code prints between calls is no answer of anybody', () => {
    heard.mockClear();
    afterSupervisor(between, SUPERVISOR.output)?.tell();
    afterSupervisor(between, SUPERVISOR.file)?.tell();
    expect(heard).not.toHaveBeenCalled();
  });

  it('an end of a call is out of turn where none is under way, and in a run', () => {
    for (const turn of [between, ...NAMES.map((name) => TURNS[name])])
      expect(afterSupervisor(turn, SUPERVISOR.answered)).toBeUndefined();
    for (const turn of NAMES.map((name) => TURNS[name]))
      expect(afterSupervisor(turn, SUPERVISOR.restless)).toBeUndefined();
  });
});
