// The audit of a command that runs code: listens to what the command's log listens to. Nothing is opened before a run is.

import { join } from 'node:path';
import { fanOut, type Observer } from '../../base/log/events.js';
import { Audit } from '../../run/audit/audit.js';
import type { Prepared } from './prepare.js';

/** Below the state directory. */
export const AUDIT_FOLDER = 'audit';

/** Tells `observer` and the audit, where there is to be one; disposing waits, for a moment, until its lines are written. */
export type Audited = AsyncDisposable & { readonly observer: Observer };

export function audited({ settings, observer, redactor }: Prepared): Audited {
  if (settings.audit === 'off') return { observer, [Symbol.asyncDispose]: () => Promise.resolve() };
  const audit = new Audit({
    dir: join(settings.stateDir, AUDIT_FOLDER),
    quotaBytes: settings.auditBytes,
    redact: (text) => redactor.redact(text),
    observer,
  });
  return {
    observer: fanOut(observer, audit.observe),
    [Symbol.asyncDispose]: () => audit[Symbol.asyncDispose](),
  };
}
