// Sources of the page, out of a state directory and of the bridges that run: for the program of `ui`, and for a bridge over HTTP.

import { join } from 'node:path';
import { nameInId } from '../../base/principal.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { MAX_WHO_CHARS } from '../../policy/inbox/question-file.js';
import { KeptFiles, surveyKept } from '../../run/artifacts/kept-files.js';
import { wordOfId } from '../../service/principals/principal-rules.js';
import { principalStateDir } from '../../settings/files/state-dir.js';
import type { Sources, Viewer } from '../../watch/front/sources.js';
import { SeenBridges } from '../../watch/gather/bridges.js';
import { History } from '../../watch/gather/history.js';
import { giveAnswer, surveyApprovals } from '../approvals/give-answer.js';
import { AuditTail } from '../kept/follow-audit.js';
import { endLive, liveSessions } from '../kept/sessions.js';
import { AUDIT_FOLDER, type Prepared } from '../serving/prepare.js';

/** Looks for bridges until it is disposed of. `signal` ends what it does for a viewer. */
export function pageSources(prepared: Prepared, signal: AbortSignal): Sources & Disposable {
  const { keepSeconds, settings } = prepared;
  const { stateDir, keepBytes: quotaBytes } = settings;
  const tail = new AuditTail(join(stateDir, AUDIT_FOLDER));
  const history = new History();
  const bridges = new SeenBridges(stateDir);
  return {
    views: ['now', 'questions', 'runs', 'sessions', 'bridges', 'tools', 'verdicts'],
    bridges,
    history,
    readAudit: () => history.add(tail.next()),
    questions: () =>
      surveyApprovals(stateDir).open.map((asked) => ({
        ...asked,
        answer: (decision, word, viewer) =>
          giveAnswer(asked, decision, word, { by: 'page', ...nameOf(viewer) }),
      })),
    // The answer says how the question ended; elsewhere nobody keeps what it was.
    ended: () => [],
    sessions: () =>
      liveSessions(stateDir).map((session) => {
        const { handle, name, client, principal, createdAt, lastCallAt, calls } = session;
        const { heldBytes, memoryLimitBytes } = session;
        return {
          ...{ handle, name, client, createdAt, lastCallAt, calls, memoryLimitBytes },
          owner: principal ?? undefined,
          ...(principal === null ? {} : { principal: wordOfId(principal) }),
          ...(heldBytes === undefined ? {} : { heldBytes }),
          end: async () => void (await endLive(session, prepared, signal)),
        };
      }),
    filesOf: async ({ run, principal }) => {
      // A principal's files lie in the principal's own folder, so that no run of another is found by the same id.
      const own = principal === undefined ? stateDir : principalStateDir(stateDir, { id: principal });
      const files = await surveyKept({ stateDir: own, keepSeconds });
      return files
        .filter((file) => file.run === run)
        .map(({ uri, name, mimeType, sizeBytes }) => ({
          ...{ name, mimeType, sizeBytes },
          read: async () => {
            using kept = new KeptFiles({ stateDir: own, keepSeconds, quotaBytes });
            return (await kept.read(uri))?.content;
          },
        }));
    },
    [Symbol.dispose]: () => bridges[Symbol.dispose](),
  };
}

/** By whom an answer is; the operator is the user of the machine. */
const nameOf = (viewer: Viewer): { readonly who?: string } =>
  viewer.sees === 'all' || viewer.principal === undefined
    ? {}
    : { who: clipHarmlessLine(nameInId(viewer.principal), MAX_WHO_CHARS) };
