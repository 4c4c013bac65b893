// What doctor says of each discovered server, without starting it: can its command be found, are its tools what they
// were, and if it is passed over, is that as it should be or for somebody to fix.

import { isAbsolute } from 'node:path';
import type { Environment } from '../../base/process/environment.js';
import { mergedVariables } from '../../base/process/environment.js';
import { findProgram } from '../../base/process/find-program.js';
import { harmless } from '../../base/text/text.js';
import type { Discovery } from '../../hosts/discovery/discover.js';
import { explainSkip } from '../../hosts/discovery/explain-skip.js';
import type { DownstreamSpec, RemoteSpec, SkippedSpec, SpecSource } from '../../hosts/downstream-spec.js';
import type { ServerChange } from '../servers/server-changes.js';
import { publicUrl } from '../servers/server-list.js';
import type { Finding } from './examination.js';

export type ServerFinding = Finding & { readonly source: SpecSource };

export function serverFindings(
  { ready, skipped }: Discovery,
  env: Environment,
  changes: ReadonlyMap<string, ServerChange>,
): ServerFinding[] {
  const findings = ready.map((spec) => withChange(ofReady(spec, env), changes.get(spec.name)));
  return [...findings, ...skipped.map(ofSkipped)];
}

/** A server that cannot be started has the more pressing trouble. */
function withChange(finding: ServerFinding, change: ServerChange | undefined): ServerFinding {
  if (change === undefined || finding.status !== 'ok') return finding;
  const { changed, remedy } = change;
  return {
    ...finding,
    status: 'warn',
    detail: `${finding.detail}; ${harmless(changed)}`,
    remedy: harmless(remedy),
  };
}

function ofReady(spec: DownstreamSpec, env: Environment): ServerFinding {
  const { name, source } = spec;
  const base = { name, source };
  if (spec.transport !== 'stdio') return { ...base, status: 'ok', detail: `ready: ${addressOf(spec)}` };
  const { command, cwd, env: own } = spec;
  // A relative path with a folder in it counts from the server's own directory, which may be made later.
  const relative = !isAbsolute(command) && /[/\\]/.test(command);
  if (relative || findProgram(command, mergedVariables(env, own, process.platform)) !== undefined) {
    return { ...base, status: 'ok', detail: `ready: ${command}${cwd === undefined ? '' : ` in ${cwd}`}` };
  }
  return {
    ...base,
    status: 'warn',
    detail: `its command ${command} was not found`,
    remedy: `Install ${command}, or correct the entry in ${source.file}.`,
  };
}

const addressOf = ({ url, transport }: RemoteSpec): string => `${publicUrl(url)} by ${WAYS[transport]}`;
const WAYS: Readonly<Record<RemoteSpec['transport'], string>> = {
  http: 'HTTP',
  sse: 'SSE',
  auto: 'HTTP or SSE',
};

function ofSkipped(skipped: SkippedSpec): ServerFinding {
  const { name, source } = skipped;
  const {
    text,
    severity,
    remedy = 'Do what it says, or leave it: nothing else needs it.',
  } = explainSkip(skipped);
  const base = { name, source, detail: `passed over: ${text}`, status: severity };
  return severity === 'ok' ? base : { ...base, remedy };
}
