// What a principal sees of the page: what is theirs, whoever else ran, asked or held something meanwhile.

import { beforeEach, describe, expect, it } from 'vitest';
import type { AuditLine, CallLine, RunLine } from '../../src/run/audit/audit-line.js';
import { OPERATOR, partFor, type Sources } from '../../src/watch/front/sources.js';
import type { RunOfBridge } from '../../src/watch/gather/bridges.js';
import { ChangeCounts } from '../../src/watch/gather/change-counts.js';
import { History } from '../../src/watch/gather/history.js';
import { question } from '../policy/inbox/questions.js';

const ANN = 'token:ann#01';
const BEN = 'token:ben#02';
const DIGEST = { bytes: 10, sha256: '0123456789abcdef' };

const owner = (principal: string | undefined) => (principal === undefined ? {} : { principal });
const runLine = (run: string, principal: string | undefined): RunLine =>
  ({
    ...{ kind: 'run', run, at: new Date().toISOString(), client: 'agent 1', servers: ['box'] },
    ...{ status: 'success', durationMs: 5, calls: 1, code: DIGEST },
    ...owner(principal),
  }) as unknown as RunLine;
const callLine = (run: string, principal: string | undefined): CallLine =>
  ({
    ...{ kind: 'call', run, call: 1, at: new Date().toISOString(), server: 'box', tool: `of-${run}` },
    ...{ verdict: 'allowed', rule: 'allow *', arguments: DIGEST, result: DIGEST, durationMs: 3 },
    ...owner(principal),
  }) as unknown as CallLine;

const running = (run: string, principal: string | undefined): RunOfBridge => ({
  seen: {
    ...{ run, at: new Date().toISOString(), client: 'agent 1', language: 'python', servers: [] },
    ...{ status: 'running', callCount: 0, failedCalls: 0, isRecorded: true },
    ...owner(principal),
  },
  calls: [],
});

function everything(): Sources & { readonly history: History; readonly versions: ChangeCounts } {
  const versions = new ChangeCounts();
  const history = new History();
  const lines: AuditLine[] = [undefined, ANN, BEN].flatMap((principal, at) => [
    callLine(`old-${at}`, principal),
    runLine(`old-${at}`, principal),
  ]);
  history.add(lines);
  const runs = [running('now-0', undefined), running('now-1', ANN), running('now-2', BEN)];
  return {
    views: ['now', 'questions', 'bridges'],
    versions,
    history,
    readAudit: () => {},
    ended: () =>
      [undefined, ANN, BEN].map((principal) => ({
        question: question({ principal }),
        why: `ended for ${principal}`,
        atMs: 0,
      })),
    bridges: {
      facts: [
        {
          ...{ pid: 1, version: '1', kind: 'http', since: '', folder: '', memoryBytes: 1 },
          servers: [{ name: 'box', state: 'idle', tools: [] }],
          principals: [ANN, BEN].map((principal) => ({
            principal,
            servers: [{ name: `box of ${principal}`, state: 'ready', tools: [] }],
          })),
        },
      ],
      versionOf: (principal) => versions.of(principal),
      factsVersionOf: (principal) => versions.of(principal),
      *runs() {
        yield* runs;
      },
      run: (id) => runs.find(({ seen }) => seen.run === id),
      recorded: async (run) => ({
        code: `code of ${run}`,
        stdout: '',
        stderr: '',
        files: [],
        texts: [],
        pictures: [],
      }),
    },
    questions: () =>
      [undefined, ANN, BEN].map((principal) => ({
        question: question({ principal, run: `asked for ${principal}` }),
        digest: '',
        answer: async () => ({ is: 'taken', why: 'allowed' }),
      })),
    sessions: () =>
      [undefined, ANN, BEN].map((principal, at) => ({
        ...{ handle: `s-${at}`, name: 'figures', client: 'agent 1', createdAt: '', lastCallAt: '' },
        ...{ calls: 1, memoryLimitBytes: 1, owner: principal, end: async () => {} },
      })),
    filesOf: async ({ run }) => [
      { name: `file of ${run}`, mimeType: 'text/plain', sizeBytes: 1, read: async () => undefined },
    ],
  };
}

let all: ReturnType<typeof everything>;
beforeEach(() => {
  all = everything();
});

describe('a principal', () => {
  const own = () => partFor({ sees: 'own', principal: ANN }, all);

  it('sees their runs alone, of the audit and of bridges, and opens no other', async () => {
    const { history, bridges } = own();
    const listed = history.list(bridges.runs()).map(({ run }) => run);
    expect(listed.sort()).toEqual(['now-1', 'old-1']);
    expect(history.run('old-1', undefined)?.seen.run).toBe('old-1');
    for (const id of ['old-0', 'old-2', 'now-0', 'now-2', 'none'])
      expect(history.run(id, bridges.run(id)), id).toBeUndefined();
    // Not even where somebody hands the run in.
    expect(history.run('now-2', all.bridges.run('now-2'))).toBeUndefined();
  });

  it('reads code and output of their own runs alone', async () => {
    expect(await own().bridges.recorded('now-1')).toMatchObject({ code: 'code of now-1' });
    for (const id of ['now-0', 'now-2', 'old-0']) expect(await own().bridges.recorded(id), id).toBeNull();
  });

  it('is given files of their own runs alone', async () => {
    const { filesOf } = own();
    expect(await filesOf({ run: 'now-1', principal: ANN })).toMatchObject([{ name: 'file of now-1' }]);
    expect(await filesOf({ run: 'now-2', principal: BEN })).toEqual([]);
    expect(await filesOf({ run: 'now-0' })).toEqual([]);
  });

  it('has sums of the tools of their own calls', () => {
    const { history, bridges } = own();
    expect(history.tools(bridges.runs()).map(({ tool, calls }) => [tool, calls])).toEqual([['of-old-1', 1]]);
  });

  it('sees the verdicts on their own calls alone', () => {
    all.history.add([
      ...[ANN, BEN].map((principal) => ({
        ...callLine('denied', principal),
        ...{ run: `denied-${principal}`, verdict: 'denied' as const, rule: 'deny *' },
      })),
    ]);
    const { history, bridges } = own();
    const verdicts = history.verdicts(bridges.runs());
    expect(verdicts.map(({ run, is, rule }) => [run, is, rule])).toEqual([
      [`denied-${ANN}`, 'refused', 'deny *'],
      ['old-1', 'allowed', 'allow *'],
    ]);
    // Not even of runs that somebody hands in.
    const call = { call: 1, server: 'box', tool: 'of-now', isAllowed: true, rule: 'allow *', endedAt: '9' };
    const handed = [ANN, BEN].map((principal) => ({
      ...running(`handed-${principal}`, principal),
      calls: [{ ...call, durationMs: 1, argumentBytes: 1 }],
    }));
    expect(history.verdicts(handed).map(({ run }) => run)).toContain(`handed-${ANN}`);
    expect(history.verdicts(handed).map(({ run }) => run)).not.toContain(`handed-${BEN}`);
  });

  it('sees their questions, sessions and servers alone, and nothing of the process', () => {
    const { questions, sessions, bridges } = own();
    expect(questions().map(({ question: { run } }) => run)).toEqual([`asked for ${ANN}`]);
    expect(sessions().map(({ handle }) => handle)).toEqual(['s-1']);
    expect(bridges.facts).toEqual([{ servers: [{ name: `box of ${ANN}`, state: 'ready', tools: [] }] }]);
    expect(own().views).toEqual(['now', 'questions', 'bridges']);
    expect(
      own()
        .ended()
        .map(({ why }) => why),
    ).toEqual([`ended for ${ANN}`]);
  });

  it('is told of no change of anybody else', () => {
    const { history, bridges } = own();
    const versions = () => [history.versionOf(), bridges.versionOf(), bridges.factsVersionOf()];
    const before = versions();
    all.history.add([callLine('old-9', BEN), runLine('old-9', BEN), runLine('old-8', undefined)]);
    all.versions.grow(BEN);
    all.versions.grow();
    expect(versions()).toEqual(before);
    // The control: their own is a change.
    all.history.add([runLine('old-7', ANN)]);
    all.versions.grow(ANN);
    expect(versions().filter((one, at) => one === before[at])).toEqual([]);
  });
});

it('the operator sees all of it', () => {
  const { history, bridges, questions, sessions } = partFor(OPERATOR, all);
  expect(history.list(bridges.runs())).toHaveLength(6);
  expect(history.tools(bridges.runs())).toHaveLength(3);
  expect([questions().length, sessions().length, bridges.facts.length]).toEqual([3, 3, 1]);
});
