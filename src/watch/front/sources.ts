// Where the page has it all from, whole for the operator and cut for a principal, who sees what is theirs and nothing else.

import type { Decision, Question } from '../../policy/approvals/question.js';
import type { SurveyedFile } from '../../run/artifacts/kept-files.js';
import type { SeenBridges } from '../gather/bridges.js';
import type { History } from '../gather/history.js';
import type { SeenRun } from '../told/told.js';
import type { ShownBridge, ShownSession, ViewName } from './shown.js';

/** Who looks: the operator, who sees all, or one principal by id, undefined for the user who started the bridge. */
export type Viewer =
  | { readonly sees: 'all' }
  | { readonly sees: 'own'; readonly principal: string | undefined };

export const OPERATOR: Viewer = { sees: 'all' };

/** A question that waits, and how it is answered. */
export type AnswerableQuestion = {
  readonly question: Question;
  /** Digest of the question's text as it was read. */
  readonly digest: string;
  /** Resolves with how the question ended, as the rest of a sentence; rejects where the bridge takes no answer. */
  readonly answer: (
    decision: Decision,
    word: string | undefined,
    viewer: Viewer,
  ) => Promise<{ readonly is: 'taken' | 'late'; readonly why: string }>;
};

export type LiveSession = Omit<ShownSession, 'token'> & {
  /** Id of the principal whose session it is; undefined for the user who started the bridge. */
  readonly owner: string | undefined;
  /** Ends it; rejects where that is not possible. */
  readonly end: () => Promise<void>;
};

/** A question that has ended not long ago; `why` says how, as the rest of a sentence. */
export type PastQuestion = { readonly question: Question; readonly why: string; readonly atMs: number };

/** A file that a run has left; `read` resolves with undefined where it is gone meanwhile. */
export type RunFile = Pick<SurveyedFile, 'name' | 'mimeType' | 'sizeBytes'> & {
  readonly read: () => Promise<Buffer | undefined>;
};

export type Sources = {
  /** Views that there is something for, in the order in which they are offered. */
  readonly views: readonly ViewName[];
  readonly bridges: Pick<SeenBridges, 'factsVersionOf' | 'recorded' | 'run' | 'runs' | 'versionOf'> & {
    readonly facts: readonly ShownBridge[];
  };
  readonly history: Pick<History, 'list' | 'run' | 'tools' | 'verdicts' | 'versionOf'>;
  /** Has the history take what the audit has got since the last look. */
  readonly readAudit: () => void;
  readonly questions: () => readonly AnswerableQuestion[];
  /** The newest first. */
  readonly ended: () => readonly PastQuestion[];
  readonly sessions: () => readonly LiveSession[];
  /** Files of a run that are still kept. */
  readonly filesOf: (run: Pick<SeenRun, 'run' | 'principal'>) => Promise<readonly RunFile[]>;
};

/** The part that this viewer may see. */
export const partFor = (viewer: Viewer, sources: Sources): Sources =>
  viewer.sees === 'all' ? sources : ownPartOf(viewer.principal, sources);

/** Facts of a bridge are of the whole process and of everybody, so a principal sees of it the servers that are theirs. */
function ownPartOf(
  principal: string | undefined,
  { views, bridges, history, readAudit, questions, ended, sessions, filesOf }: Sources,
): Sources {
  const isOwn = (one: { readonly principal?: string | undefined } | undefined): boolean =>
    one?.principal === principal;
  const ownFacts = (): readonly ShownBridge[] =>
    bridges.facts
      .flatMap((one) => ('pid' in one ? (one.principals ?? []) : []))
      .filter(isOwn)
      .map(({ servers }) => ({ servers }));
  function* ownRuns() {
    for (const one of bridges.runs()) if (isOwn(one.seen)) yield one;
  }
  return {
    views,
    readAudit,
    bridges: {
      get facts() {
        return ownFacts();
      },
      versionOf: () => bridges.versionOf(principal),
      factsVersionOf: () => bridges.factsVersionOf(principal),
      runs: ownRuns,
      run: (id) => [bridges.run(id)].find((one) => isOwn(one?.seen)),
      recorded: async (id) => (isOwn(bridges.run(id)?.seen) ? await bridges.recorded(id) : null),
    },
    history: {
      versionOf: () => history.versionOf(principal),
      list: (remembered) => history.list(remembered).filter(isOwn),
      run: (id, remembered) => [history.run(id, remembered)].find((one) => isOwn(one?.seen)),
      tools: (remembered) => history.tools(remembered, principal),
      verdicts: (remembered) => history.verdicts(remembered, isOwn),
    },
    questions: () => questions().filter(({ question }) => isOwn(question)),
    ended: () => ended().filter(({ question }) => isOwn(question)),
    sessions: () => sessions().filter(({ owner }) => owner === principal),
    filesOf: async (run) => (isOwn(run) ? await filesOf(run) : []),
  };
}
