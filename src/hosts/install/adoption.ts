// A host's servers moved into the bridge's own folder, and put back. One change writes both files, our folder first, so that
// no server is in neither; the bridge is registered in the same change where it is not. Prints nothing.

import { BridgeError } from '../../base/errors.js';
import { isObject } from '../../base/json/records.js';
import { ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import type { DownstreamSpec } from '../downstream-spec.js';
import type { MemberEdit } from '../edit/json-members.js';
import { readUserFile } from '../edit/user-file.js';
import { adoptedSource, type HostRecord } from '../records/all-hosts.js';
import { filesOf } from '../terms/source-files.js';
import { type AdoptPlace, type Candidate, candidatesOf, refuseIfOthers } from './candidates.js';
import { makeChange, type PlannedFile, type UndoneFile, undoChange } from './changes.js';
import { registrationFile } from './hosts.js';
import { ADOPTABLE_HOSTS } from './known-rules.js';
import {
  DEFAULT_NAME,
  hostNamed,
  isOwnEntry,
  ownEntries,
  ownLaunch,
  pendingChanges,
  planEdits,
  planRegistration,
  refuseIfManaged,
} from './registration.js';

export type AdoptedServer = Pick<Candidate, 'name' | 'file' | 'denied' | 'only' | 'onlyWhy'> & {
  /** How many tools it has; undefined where it was never started. */
  readonly tools: number | undefined;
  /** Characters of their names, descriptions and schemas, which leave the model's context. */
  readonly chars: number | undefined;
};

export type Adopted = {
  readonly host: string;
  readonly title: string;
  readonly result: 'moved' | 'nothing to move' | 'would move';
  readonly servers: readonly AdoptedServer[];
  /** Servers that stay in the host. */
  readonly left: ReturnType<typeof candidatesOf>['left'];
  /** The file in our own folder. */
  readonly file: string;
  /** Whether the same change registers the bridge in the host, and under which name it is there. */
  readonly registers: boolean;
  readonly name: string;
  readonly backup: string | undefined;
  readonly undo: string;
  /** A sentence about what cannot be read of the host. */
  readonly unseen: string | undefined;
};

export type Restored = {
  readonly host: string;
  readonly title: string;
  readonly result: 'restored' | 'nothing to restore' | 'would restore';
  readonly files: readonly UndoneFile[];
};

/**
 * Moves the servers of a host that are named, or all, into our own folder. `charsOf` gives how many characters each of a
 * server's tools has, where that is known without starting the server. Throws E_ARGUMENTS for a host or server that is none,
 * E_CONFIG and E_STATE.
 */
export function adopt(
  id: string,
  names: readonly string[],
  {
    name = DEFAULT_NAME,
    dryRun = false,
  }: { readonly name?: string | undefined; readonly dryRun?: boolean | undefined },
  place: AdoptPlace,
  charsOf: (spec: DownstreamSpec) => readonly number[] | undefined,
): Adopted {
  const record = hostNamed(id);
  refuseIfManaged(record, place);
  const own = ownEntryFor(record, name, place);
  const found = candidatesOf(record, own, place);
  const { candidates, left } = candidatesNamed(names, found, record);
  const file = adoptedFileOf(record, place);
  const servers = candidates.map((one) => withChars(one, charsOf(one.spec)));
  const registers = !own.isThere && candidates.length > 0;
  const shared = {
    host: record.id,
    title: record.title,
    servers,
    left,
    file,
    registers,
    name: own.name,
    undo: ownCommand('restore', record.id),
    unseen: ADOPTABLE_HOSTS[record.id]?.unseen,
  };
  if (candidates.length === 0) return { ...shared, result: 'nothing to move', backup: undefined };
  const planned = plan(candidates, file, record, name, registers, place);
  if (dryRun) return { ...shared, result: 'would move', backup: undefined };
  const { folder } = makeChange('adopt', record.id, planned, place);
  return { ...shared, result: 'moved', backup: folder };
}

/** Puts all back that was moved out of a host. Throws E_ARGUMENTS, E_CONFIG and E_STATE. */
export function restore(
  id: string,
  { dryRun = false }: { readonly dryRun?: boolean | undefined },
  place: AdoptPlace,
): Restored {
  const record = hostNamed(id);
  const { title } = record;
  const { source } = registrationFile(record, place);
  const mayRemove = (value: unknown) => isOwnEntry(value, source);
  const changes = pendingChanges('adopt', record, place);
  const files = changes.flatMap((change) => undoChange(change, { mayRemove }, place, dryRun));
  const result = changes.length === 0 ? 'nothing to restore' : dryRun ? 'would restore' : 'restored';
  return { host: record.id, title, result, files };
}

function ownEntryFor(
  record: HostRecord,
  name: string,
  place: AdoptPlace,
): {
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
  readonly isThere: boolean;
} {
  const [own] = ownEntries(record, place);
  if (own !== undefined && isObject(own.value)) return { name: own.name, entry: own.value, isThere: true };
  return { name, entry: record.entry(ownLaunch(record, {}, place)), isThere: false };
}

function adoptedFileOf(record: HostRecord, place: AdoptPlace): string {
  const source = adoptedSource(registrationFile(record, place).source);
  const [file] = source === undefined ? [] : filesOf(source, place.env, place.host);
  if (file === undefined) throw new Error(`${record.title} has no file in the bridge's folder`);
  return file;
}

/** Only the candidates that were asked for; each must be there, and must be one that can be moved. */
function candidatesNamed(
  names: readonly string[],
  { candidates, left }: ReturnType<typeof candidatesOf>,
  { id, title }: HostRecord,
): ReturnType<typeof candidatesOf> {
  if (names.length === 0) return { candidates, left };
  const all = [...candidates, ...left].map(({ name }) => name);
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    throw new BridgeError('E_ARGUMENTS', `${title} has no server '${unknown}'.${didYouMean(unknown, all)}`, {
      fault: 'operator',
      remedy: `\`${ownCommand('adopt', id, '--dry-run')}\` lists them. Nothing was changed.`,
    });
  }
  return {
    candidates: candidates.filter(({ name }) => names.includes(name)),
    left: left.filter(({ name }) => names.includes(name)),
  };
}

function plan(
  candidates: readonly Candidate[],
  ownFile: string,
  record: HostRecord,
  name: string,
  registers: boolean,
  place: AdoptPlace,
): PlannedFile[] {
  const kept = readUserFile(ownFile, place.host);
  const ours = planEdits(
    kept,
    candidates.map(({ name, entry }) => ({ kind: 'put', path: ['mcpServers', name], value: entry }) as const),
  );
  const target = registrationFile(record, place).file;
  const files = [...new Set(candidates.map(({ file }) => file))];
  const removals = (file: string): MemberEdit[] =>
    candidates.filter((one) => one.file === file).map(({ path }) => ({ kind: 'remove', path }));
  const others = files
    .filter((file) => !(registers && file === target))
    .map((file) => planEdits(readUserFile(file, place.host), removals(file)));
  const registration = registers ? [planRegistration(record, { name }, place, removals(target))] : [];
  for (const { file } of [...registration, ...others])
    refuseIfOthers(
      file,
      candidates.filter((one) => one.file === file.path),
    );
  return [ours, ...registration, ...others];
}

function withChars(
  { name, file, denied, only, onlyWhy }: Candidate,
  known: readonly number[] | undefined,
): AdoptedServer {
  const chars = known?.reduce((sum, one) => sum + one, 0);
  return { name, file, denied, only, onlyWhy, tools: known?.length, chars };
}
