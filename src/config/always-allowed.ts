// What a person has allowed for good, written into the policy file: with the day and the reason, and with everything else in the
// file as it was, comments included. The new text is read as the bridge will read it before it takes the place of the old one.

import { chmodSync, realpathSync, statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { BridgeError } from '../base/errors.js';
import { lockFile } from '../base/file-lock.js';
import { LinkedSignal } from '../base/linked-signal.js';
import { replaceFile } from '../base/replace-file.js';
import type { HostFacts } from './host-facts.js';
import { yamlParser } from './parsers.js';
import { type PolicyFile, parsePolicy, policyText } from './policy-file.js';

/** Exact names. */
export type AllowedTool = {
  readonly server: string;
  readonly tool: string;
  readonly reason: string | undefined;
};

const LIST = ['approvals', 'always'] as const;
const LOCK_WITHIN_MS = 10_000;

/** Does nothing where it is allowed already. Throws E_SETTINGS or E_STATE, and then the file is as it was. */
export async function allowAlways(
  file: string,
  allowed: AllowedTool,
  host: HostFacts,
  signal: AbortSignal,
  now = new Date(),
): Promise<void> {
  // A link stays one.
  const path = realpathSync(file);
  using ends = new LinkedSignal(signal, AbortSignal.timeout(LOCK_WITHIN_MS));
  using _lock = await lockFile(`${path}.lock`, ends.signal);
  const before = policyText(path, host);
  const old = parsePolicy(path, before);
  const { server, tool, reason } = allowed;
  const always = old.approvals?.always ?? [];
  if (always.some((entry) => entry.server === server && entry.tool === tool)) return;
  const since = now.toISOString().slice(0, 10);
  const entry = { server, tool, since, ...(reason === undefined ? {} : { reason }) };
  const text = withEntry(before, entry);
  const read = parsePolicy(path, text);
  if (!isDeepStrictEqual(read, withAlways(old, [...always, entry]))) throw notWritten(path);
  const { mode } = statSync(path);
  replaceFile(path, text);
  chmodSync(path, mode & 0o777);
}

function withEntry(text: string, entry: object): string {
  const document = yamlParser().parseDocument(text);
  if (document.hasIn(LIST)) document.addIn(LIST, document.createNode(entry));
  else document.setIn(LIST, document.createNode([entry]));
  // Long lines stay long.
  const written = document.toString({ lineWidth: 0 });
  return text.trimStart().startsWith('{') ? json(written, document.toJS(), text) : written;
}

/** JSON has no comments to keep, and is read by others as well. */
const json = (written: string, value: unknown, before: string): string =>
  parses(before) ? `${JSON.stringify(value, null, before.includes('\n') ? 2 : undefined)}\n` : written;

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function withAlways(policy: PolicyFile, always: NonNullable<PolicyFile['approvals']>['always']): PolicyFile {
  const { approvals = { trust: [], reads: [], rules: [], always: [] } } = policy;
  return { ...policy, approvals: { ...approvals, always } };
}

const notWritten = (path: string): BridgeError =>
  new BridgeError('E_STATE', `${path} cannot be changed without a change to something else in it.`, {
    fault: 'operator',
    remedy: 'Write the tool into approvals.always by hand.',
  });
