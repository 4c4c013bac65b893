// `serve`: the bridge on stdio for one agent, from the first byte to the last. Nothing but MCP is written to stdout,
// and nothing is left running when it returns.

// First, since it decides how the schemas of all others are made.
import '../../wire/schema-making.js';
import { fanOut, type Observer } from '../../base/log/events.js';
import { VERSION } from '../../base/version.js';
import { LateBridge } from '../../mcp/connection/late-bridge.js';
import { serveAgent } from '../../mcp/connection/server.js';
import { AgentTransport } from '../../mcp/requests/stdio-transport.js';
import { SET_UP_SOFT_TIMEOUT_MS } from '../../run/queue/soft-timeout.js';
import { problemsIn } from '../../settings/environment/setting-problems.js';
import { startFigures } from '../figures/start-figures.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { LateFeed, processFacts, serverFacts } from './late-feed.js';
import { type Examined, examine, startAudit } from './prepare.js';

import { type End, endBy, firstFault, nothingElseWrites } from './serving-process.js';

/** Hosts kill half a second after asking; whoever still lives long after that would hang for ever. */
const CLOSE_WITHIN_MS = 5_000;
/** Time for the last lines of the log, where somebody is slow to read them. */
const LOG_WITHIN_MS = 200;

/** Ends the process when the agent has gone or a signal came. `alone` says why it shares no bridge, where it was to. */
export async function serve(alone?: string): Promise<void> {
  const prepared = examine('info', 'serves');
  const { stderr } = prepared;
  nothingElseWrites(stderr);
  const audit = startAudit(prepared);
  const figures = startFigures(prepared, audit.observer);
  const { redactor, settings } = prepared;
  const feed = new LateFeed(settings, audit.observer);
  const observer = fanOut(
    figures.beside(audit.observer),
    feed.observerFor((text) => redactor.redact(text)),
  );
  if (alone !== undefined) observer({ type: 'bridge.alone', reason: alone });
  const interrupted = interruptSignal({ isService: true });
  const fault = firstFault(observer);
  const { transport, bridge } = await connectAgent(prepared, observer, feed);
  const { reason, exitCode } = await Promise.race([
    transport.closed.then((): End => ({ reason: 'the agent has gone', exitCode: 0 })),
    endBy(interrupted),
    fault,
  ]);
  observer({ type: 'bridge.closing', reason });
  setTimeout(() => process.exit(1), CLOSE_WITHIN_MS).unref();
  // Ahead of the exit, which does not wait for the end of this function.
  feed[Symbol.dispose]();
  await bridge?.[Symbol.asyncDispose]();
  await figures[Symbol.asyncDispose]();
  await audit[Symbol.asyncDispose]();
  await answersAreOut();
  await stderr.flush(LOG_WITHIN_MS);
  process.exit(exitCode);
}

/** The agent's end of the bridge, or, where a setting is wrong, what only says so: there is no bridge then. */
async function connectAgent(
  prepared: Examined,
  observer: Observer,
  feed: LateFeed,
): Promise<{
  readonly transport: AgentTransport;
  readonly bridge: LateBridge | undefined;
}> {
  const { settings, discovery, redactor } = prepared;
  const opened =
    prepared.problems.length > 0
      ? prepared
      : openedOr(
          () =>
            new LateBridge({
              settings,
              discovery,
              observer,
              redactor,
              setUpSoftTimeoutMs: SET_UP_SOFT_TIMEOUT_MS,
              onMade: (bridge) =>
                feed.open(() => ({
                  ...processFacts(VERSION),
                  kind: 'stdio',
                  folder: discovery.host.cwd,
                  servers: serverFacts(bridge),
                  sandboxes: bridge.waitingSandboxes,
                })),
            }),
        );
  const bridge = opened instanceof LateBridge ? opened : undefined;
  const transport = new AgentTransport(process.stdin, process.stdout, async () => bridge?.waitUntilSettled());
  if (opened instanceof LateBridge) {
    await serveAgent(opened, opened.jobs, transport, observer, prepared.warnings);
    return { transport, bridge: opened };
  }
  for (const { message, remedy } of opened.problems)
    observer({ type: 'settings.wrong', message: `${message} ${remedy}` });
  const { serveWrongSettings } = await import('../../mcp/connection/wrong-settings.js');
  await serveWrongSettings(settings, opened.problems, transport);
  return { transport, bridge: undefined };
}

/** The policy may have been changed since it was examined. */
function openedOr(open: () => LateBridge): LateBridge | Pick<Examined, 'problems'> {
  try {
    return open();
  } catch (thrown) {
    return { problems: problemsIn(thrown) };
  }
}

/** A run that has just ended becomes an answer some turns later; an exit before that would lose it. */
async function answersAreOut(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => process.stdout.write('', resolve));
}
