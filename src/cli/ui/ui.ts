// `ui`: a page on this machine that shows what all bridges of the user do, and takes answers to their questions. The page ends with
// this command; nothing of it listens before or after.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replacedPart } from '../../base/replaced-part.js';
import { PACKAGE_ROOT } from '../../base/version.js';
import { wordOfId } from '../../service/principals/principal-rules.js';
import { WatchFront } from '../../watch/front/front.js';
import { SeenBridges } from '../../watch/gather/bridges.js';
import { History } from '../../watch/gather/history.js';
import { giveAnswer, surveyApprovals } from '../approvals/give-answer.js';
import { AuditTail } from '../kept/follow-audit.js';
import { endLive, liveSessions } from '../kept/sessions.js';
import { isRemoteShell, openBrowser } from '../servers/login.js';
import { AUDIT_FOLDER, prepare } from '../serving/prepare.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { sayNote, usageError, visibleText } from '../terminal/output.js';

const MAX_PORT = 65_535;

/** Serves the page until it is interrupted. Throws E_ARGUMENTS where the port is none, or is not free. */
export async function ui({
  browser,
  port,
}: {
  readonly browser: boolean;
  readonly port?: number;
}): Promise<void> {
  if (port !== undefined && port > MAX_PORT)
    throw usageError(`--port is ${port}; allowed: up to ${MAX_PORT}.`, 'Leave it out for any free port.');
  const prepared = prepare('error', 'ends');
  const { stateDir } = prepared.settings;
  const interrupted = interruptSignal();
  const tail = new AuditTail(join(stateDir, AUDIT_FOLDER));
  const history = new History();
  let front: WatchFront | undefined;
  using bridges = new SeenBridges(stateDir, () => front?.tell('now', 'runs'));
  front = await WatchFront.open(
    {
      bridges,
      history,
      readAudit: () => history.add(tail.next()),
      questions: () =>
        surveyApprovals(stateDir).open.map((asked) => ({
          ...asked,
          answer: (decision, word) => giveAnswer(asked, decision, word, { by: 'page' }),
        })),
      sessions: () =>
        liveSessions(stateDir).map((session) => {
          const { handle, name, client, principal, createdAt, lastCallAt, calls } = session;
          const { heldBytes, memoryLimitBytes } = session;
          return {
            ...{ handle, name, client, createdAt, lastCallAt, calls, memoryLimitBytes },
            ...(principal === null ? {} : { principal: wordOfId(principal) }),
            ...(heldBytes === undefined ? {} : { heldBytes }),
            end: async () => void (await endLive(session, prepared, interrupted)),
          };
        }),
      script: builtFile('page.js'),
      style: builtFile('page.css'),
    },
    port,
  ).catch((thrown: unknown) => {
    if (port === undefined || Object(thrown).code === undefined) throw thrown;
    throw usageError(
      `Port ${port} cannot be used (${visibleText(String(Object(thrown).code))}).`,
      'Give another one with --port, or leave it out.',
    );
  });
  await using page = front;
  const link = page.newLink();
  process.stdout.write(`${link}\n`);
  sayNote('The link opens the page once, on this machine. Ctrl-C ends the page.');
  if (browser && !isRemoteShell()) await openBrowser(link, (line) => sayNote(line));
  await new Promise<void>((resolve) => {
    if (interrupted.aborted) resolve();
    interrupted.addEventListener('abort', () => resolve());
  });
}

/** A file of the page, as the bundler has written it. Throws E_REPLACED where it is not there. */
function builtFile(name: string): string {
  try {
    return readFileSync(join(PACKAGE_ROOT, 'dist/bundle', name), 'utf8');
  } catch (thrown) {
    throw replacedPart(thrown);
  }
}
