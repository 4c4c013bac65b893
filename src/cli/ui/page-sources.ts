// Sources of the page, out of a state directory and of the bridges that run: for the program of `ui`, and for a bridge over HTTP.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameInId } from '../../base/principal.js';
import { replacedPart } from '../../base/replaced-part.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { PACKAGE_ROOT } from '../../base/version.js';
import { MAX_WHO_CHARS } from '../../policy/inbox/question-file.js';
import { wordOfId } from '../../service/principals/principal-rules.js';
import type { Sources, Viewer } from '../../watch/front/sources.js';
import { SeenBridges } from '../../watch/gather/bridges.js';
import { History } from '../../watch/gather/history.js';
import { giveAnswer, surveyApprovals } from '../approvals/give-answer.js';
import { AuditTail } from '../kept/follow-audit.js';
import { endLive, liveSessions } from '../kept/sessions.js';
import { AUDIT_FOLDER, type Prepared } from '../serving/prepare.js';

/** Looks for bridges until it is disposed of. `signal` ends what it does for a viewer. */
export function pageSources(prepared: Prepared, signal: AbortSignal): Sources & Disposable {
  const { stateDir } = prepared.settings;
  const tail = new AuditTail(join(stateDir, AUDIT_FOLDER));
  const history = new History();
  const bridges = new SeenBridges(stateDir);
  return {
    bridges,
    history,
    readAudit: () => history.add(tail.next()),
    questions: () =>
      surveyApprovals(stateDir).open.map((asked) => ({
        ...asked,
        answer: (decision, word, viewer) =>
          giveAnswer(asked, decision, word, { by: 'page', ...nameOf(viewer) }),
      })),
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
    [Symbol.dispose]: () => bridges[Symbol.dispose](),
  };
}

/** By whom an answer is; the operator is the user of the machine. */
const nameOf = (viewer: Viewer): { readonly who?: string } =>
  viewer.sees === 'all' ? {} : { who: clipHarmlessLine(nameInId(viewer.principal), MAX_WHO_CHARS) };

/** The page's own files, as the bundler has written them. Throws E_REPLACED where they are not there. */
export function pageFiles(): { readonly script: string; readonly style: string } {
  try {
    const [script = '', style = ''] = ['page.js', 'page.css'].map((name) =>
      readFileSync(join(PACKAGE_ROOT, 'dist/bundle', name), 'utf8'),
    );
    return { script, style };
  } catch (thrown) {
    throw replacedPart(thrown);
  }
}
