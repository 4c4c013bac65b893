// `serve --http`: the bridge for several principals, from the first byte to the last. SIGTERM lets runs finish, a second one
// does not; SIGHUP reads certificates again. Nothing is left running when it returns.

import { BridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { isLoopback } from '../../base/text/loopback.js';
import { SET_UP_SOFT_TIMEOUT_MS } from '../../run/queue/soft-timeout.js';
import { HttpAccess } from '../../service/access/http-access.js';
import { firstTokenText, makeFirstToken } from '../../service/access/token-file.js';
import { HttpFront } from '../../service/endpoint/front.js';
import { httpParts } from '../../service/endpoint/http-serving.js';
import { recordServing } from '../../service/endpoint/serving-record.js';
import { type HttpAddress, notifySystemd, parseHttpAddress } from '../../service/http/address.js';
import { withRequests } from '../../service/http/request-context.js';
import { type Bridges, principalBridges } from '../../service/principals/bridges.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { type Prepared, prepare, startAudit } from './prepare.js';

import { type End, firstFault, nothingElseWrites } from './serving-process.js';

/** After the drain, for engines that are slow to remove containers. */
const CLOSE_WITHIN_MS = 10_000;
/** Time for the last lines of the log, where somebody is slow to read them. */
const LOG_WITHIN_MS = 500;

/** Serves until a signal ends it. Throws E_ARGUMENTS and E_SETTINGS before it listens. */
export async function serveHttp(written: string, allowedHosts: readonly string[]): Promise<void> {
  const address = parseHttpAddress(written);
  const prepared = withHosts(prepare('info', 'serves'), allowedHosts);
  const { stderr, settings } = prepared;
  const audit = startAudit(prepared);
  const { observer } = audit;
  const interrupted = interruptSignal({ except: ['SIGHUP'], isService: true });
  let listening: HttpFront | undefined;
  // From the first moment on: without a handler the signal ends the process.
  const onHangUp = () => void listening?.reload();
  process.on('SIGHUP', onHangUp);
  const { host, env } = prepared.discovery;
  const access = new HttpAccess(settings, host, env, withRequests(observer));
  const bridges = bridgesOf(prepared, access, withRequests(observer));
  const front = await openFront(address, prepared, { bridges, access }, observer, interrupted).catch(
    async (thrown) => {
      await bridges[Symbol.asyncDispose]();
      throw thrown;
    },
  );
  nothingElseWrites(stderr);
  const fault = firstFault(observer);
  listening = front;
  const record = recordServing(settings.stateDir, front.address);
  notifySystemd('READY=1', process.env);
  const { reason, exitCode } = await Promise.race([
    new Promise<End>((resolve) => {
      const onAbort = () => resolve({ reason: String(interrupted.reason), exitCode: 0 });
      if (interrupted.aborted) onAbort();
      interrupted.addEventListener('abort', onAbort);
    }),
    fault,
  ]);
  notifySystemd('STOPPING=1', process.env);
  if (exitCode === 0) await Promise.race([front.drain(settings.http.drainSeconds * 1000), fault]);
  observer({ type: 'bridge.closing', reason });
  setTimeout(() => process.exit(1), CLOSE_WITHIN_MS).unref();
  await front[Symbol.asyncDispose]();
  await bridges[Symbol.asyncDispose]();
  await audit[Symbol.asyncDispose]();
  await stderr.flush(LOG_WITHIN_MS);
  record[Symbol.dispose]();
  process.exit(exitCode);
}

const bridgesOf = (
  { settings, discovery, redactor }: Prepared,
  { book, exchange }: HttpAccess,
  observer: Observer,
): Bridges =>
  principalBridges({
    settings,
    discovery,
    observer,
    redactor,
    book,
    exchange,
    setUpSoftTimeoutMs: SET_UP_SOFT_TIMEOUT_MS,
  });

async function openFront(
  address: HttpAddress,
  { settings, warnings }: Prepared,
  { bridges, access }: { readonly bridges: Bridges; readonly access: HttpAccess },
  observer: Observer,
  signal: AbortSignal,
): Promise<HttpFront> {
  const hasCredentials = access.credentialsConfigured();
  const isOwn = address.at === 'tcp' && isLoopback(address.host);
  const firstToken = isOwn && !hasCredentials ? await makeFirstToken(settings.stateDir, signal) : undefined;
  const serving = { bridges, access, settings, observer: withRequests(observer), warnings };
  const parts = httpParts(serving, hasCredentials || isOwn);
  const front = await HttpFront.open({ address, parts, env: process.env });
  // The engine is looked for now, so that readiness is known when it is asked for.
  void parts.readiness();
  bridges.sweepRegularly();
  // Nothing else shows it, and a log may be kept: it goes to the terminal of whoever started this alone.
  if (firstToken !== undefined) process.stderr.write(firstTokenText(firstToken, front.address));
  return front;
}

const HOST_NAME = /^[a-z0-9_.-]+$|^\[[0-9a-f:.]+\]$/;

function withHosts(prepared: Prepared, allowed: readonly string[]): Prepared {
  const names = allowed.map((name) => name.toLowerCase());
  const wrong = names.find((name) => !HOST_NAME.test(name));
  if (wrong !== undefined)
    throw new BridgeError('E_ARGUMENTS', `--allowed-host: '${wrong}' is no host name.`, {
      fault: 'operator',
      remedy: 'Give a name without scheme and port, such as mcp.example.com.',
    });
  const { settings } = prepared;
  const http = { ...settings.http, hosts: [...settings.http.hosts, ...names] };
  return { ...prepared, settings: { ...settings, http } };
}
