// `uninstall --all`: hosts get their servers back and lose our entry, shared bridges end, images and state go. First the list of
// all that, then a question, then each part in an order in which nothing goes that is still needed: what the files of hosts
// were before lies in the state, which is the last to go.

import { lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { messageOf } from '../../base/errors.js';
import { isOnlyOurs } from '../../base/files/only-ours.js';
import { OWN_ARGV } from '../../base/process/own-command.js';
import { countOf } from '../../base/text/text.js';
import { PACKAGE_NAME, PACKAGE_ROOT } from '../../base/version.js';
import { chooseEngine } from '../../engine/detect.js';
import type { EngineImages } from '../../engine/engine.js';
import { type Restored, restore } from '../../hosts/install/adoption.js';
import type { AdoptPlace } from '../../hosts/install/candidates.js';
import {
  hostNamed,
  hostsHere,
  pendingChanges,
  type Uninstalled,
  uninstall,
} from '../../hosts/install/registration.js';
import { engineSelectionOf } from '../../sandbox/launch/launch-set-up.js';
import { OWN_NAMES } from '../../settings/environment/setting-paths.js';
import type { Settings } from '../../settings/environment/settings.js';
import { knownStateDirs } from '../../settings/files/state-dir.js';
import { adoptPlace, restoredText } from '../servers/adopt.js';
import { say, uninstalledText } from '../servers/install.js';
import { prepare } from '../serving/prepare.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { printJson, visibleText } from '../terminal/output.js';
import { sharedStates, stopAll } from '../windows/shared.js';
import {
  confirmRemoval,
  ownImages,
  type RemovalOptions,
  type RemovedImage,
  removedLine,
  removeEach,
} from './remove-images.js';

/** Everything that there is to remove, found without a change. */
type Inventory = {
  readonly hosts: ReadonlyArray<{ readonly restored: Restored; readonly uninstalled: Uninstalled }>;
  /** Processes of shared bridges. */
  readonly bridges: readonly number[];
  readonly images: readonly string[];
  /** Folders of state with the names in them that are ours; others stay. */
  readonly state: ReadonlyArray<{ readonly folder: string; readonly names: readonly string[] }>;
  /** Sentences about files of hosts that cannot be read. */
  readonly unread: readonly string[];
  /** Sentences about everything else that cannot be looked at. */
  readonly problems: readonly string[];
};

const isNothing = ({ hosts, bridges, images, state }: Omit<Inventory, 'unread' | 'problems'>): boolean =>
  [hosts, bridges, images, state].every(({ length }) => length === 0);

/** The folder of changes to hosts' files, with what the files were before. */
const HOST_CHANGES = 'host-changes';

/** Lists everything, asks, and removes it. The exit code is 1 if something stays that should have gone. */
export async function uninstallAll(options: RemovalOptions): Promise<void> {
  const prepared = prepare('error', 'ends');
  const { settings } = prepared;
  const { place } = adoptPlace(prepared);
  const signal = interruptSignal();
  const engine = await engineImages(settings, signal);
  const found = await takeInventory(place, engine, signal);
  if (!options.json) say(inventoryText(found, settings));
  if (options.dryRun || isNothing(found)) {
    if (options.json) printJson({ dryRun: true, ...found });
    return;
  }
  if (!(await confirmRemoval('Remove all of this?', options))) return;
  const hosts = found.hosts.map(({ uninstalled: { host } }) => ({
    restored: restore(host, {}, place),
    uninstalled: uninstall(host, {}, place),
  }));
  if (!options.json) for (const host of hosts) say(hostText(host));
  const bridges = await stopAll({ ...(options.json ? { json: true } : {}) });
  const images = 'images' in engine ? await removeEach(found.images, engine.images, signal) : [];
  // The backups are the only place of entries that could not be put back.
  const isAllBack =
    found.unread.length === 0 &&
    hosts.every(({ restored, uninstalled }) => ![...restored.files, ...uninstalled.files].some(hasNotes));
  const isFailed = found.unread.length > 0 || hosts.some(({ restored }) => restored.files.some(hasNotes));
  if (isFailed) process.exitCode = 1;
  const state = found.state.map(({ folder, names }) =>
    removeState(folder, isAllBack ? names : names.filter((name) => name !== HOST_CHANGES)),
  );
  // Nobody's own, and gone by the next start of the machine: no part of the list.
  const shared = settings.enginePlace?.shared;
  if (shared !== undefined && isOnlyOurs(shared)) rmSync(shared, { recursive: true, force: true });
  if (options.json)
    return printJson({ hosts, bridges, images, state, unread: found.unread, problems: found.problems });
  say(removedText(bridges, images, state, isAllBack));
}

const hasNotes = ({ notes }: { readonly notes: readonly string[] }): boolean => notes.length > 0;

async function engineImages(
  settings: Settings,
  signal: AbortSignal,
): Promise<{ readonly images: EngineImages } | { readonly problem: string }> {
  try {
    return await chooseEngine(engineSelectionOf(settings), signal);
  } catch (thrown) {
    return { problem: `Images were not looked for: ${messageOf(thrown)}` };
  }
}

async function takeInventory(
  place: AdoptPlace,
  engine: Awaited<ReturnType<typeof engineImages>>,
  signal: AbortSignal,
): Promise<Inventory> {
  const here = hostsHere(place);
  const hosts = here
    .filter(({ trouble }) => trouble === undefined)
    .sort((one, other) => (firstChange(one.id, place) < firstChange(other.id, place) ? 1 : -1))
    .map(({ id }) => ({
      restored: restore(id, { dryRun: true }, place),
      uninstalled: uninstall(id, { dryRun: true }, place),
    }))
    .filter(
      ({ restored, uninstalled }) =>
        restored.result !== 'nothing to restore' || uninstalled.result !== 'not registered',
    );
  const folders = knownStateDirs(place.stateDir, place.env, place.host);
  return {
    hosts,
    bridges: (await sharedStates()).map(({ pid }) => pid),
    images: 'images' in engine ? await ownImages(engine.images, signal) : [],
    state: folders.flatMap((folder) => {
      const names = ownNamesIn(folder);
      return names.length === 0 ? [] : [{ folder, names }];
    }),
    unread: here.flatMap(({ trouble }) => (trouble === undefined ? [] : [trouble])),
    problems: 'problem' in engine ? [engine.problem] : [],
  };
}

/**
 * When the earliest change that stands was made in a host; empty if there is none. The host of the earliest of all comes last:
 * that change may have made folders that later ones have used.
 */
function firstChange(id: string, place: AdoptPlace): string {
  const record = hostNamed(id);
  const kinds = ['install', 'adopt'] as const;
  const made = kinds.flatMap((kind) => pendingChanges(kind, record, place).map((change) => change.made));
  return made.sort()[0] ?? '';
}

/** A folder that is a link, or that is not there, has none. */
function ownNamesIn(folder: string): readonly string[] {
  try {
    if (!lstatSync(folder).isDirectory()) return [];
    const own: readonly string[] = OWN_NAMES;
    return readdirSync(folder).filter((name) => own.includes(name));
  } catch {
    return [];
  }
}

/**
 * Removes these names, and the folder too if it is then empty and named after us. `left` are names that lie there still: the
 * user's own, or those that could not be removed.
 */
function removeState(folder: string, names: readonly string[]) {
  const removed: string[] = [];
  for (const name of names) {
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
      removed.push(name);
    } catch {
      process.exitCode = 1;
    }
  }
  const left = readdirSync(folder);
  if (left.length === 0 && basename(folder) === PACKAGE_NAME) rmdirSync(folder);
  return { folder, removed, left };
}

/** Says how a person removes the program that was started by this argv: only npm's own can be named by its name. */
export const programText = ([first]: readonly string[]): string =>
  `the program itself${first === PACKAGE_NAME ? `: npm uninstall -g ${PACKAGE_NAME}` : `, in ${PACKAGE_ROOT}`}`;

function inventoryText(
  { hosts, bridges, images, state, unread, problems }: Inventory,
  { policyFile }: Settings,
): string {
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
  const moved = hosts.filter(({ restored }) => restored.result !== 'nothing to restore');
  const lines = [
    ...list(
      'Take the bridge out of:',
      hosts.map(({ uninstalled }) => uninstalledText(uninstalled).split('\n')[0] ?? ''),
    ),
    ...list(
      'Put servers back that `adopt` has moved:',
      moved.map(({ restored }) => restored.title),
    ),
    ...list(
      'End shared bridges, after the calls under way:',
      bridges.map((pid) => `process ${pid}`),
    ),
    ...list('Remove images:', images),
    ...list(
      'Remove state (audit, logins, tokens, kept files):',
      state.map(({ folder, names }) => `${visibleText(folder)}: ${names.join(', ')}`),
    ),
    ...list('Cannot be looked at:', [...unread, ...problems].map(visibleText)),
  ];
  if (isNothing({ hosts, bridges, images, state }))
    return [...lines, 'There is nothing to remove.'].join('\n');
  const stays = [
    ...(policyFile === undefined ? [] : [`your policy file ${visibleText(policyFile)}`]),
    'snippets, and files in other folders that you have made',
    programText(OWN_ARGV),
  ];
  return [...lines, ...list('Stays:', stays)].join('\n');
}

function hostText({ restored, uninstalled }: Inventory['hosts'][number]): string {
  const parts = [
    ...(restored.result === 'nothing to restore' ? [] : [restoredText(restored)]),
    ...(uninstalled.result === 'not registered' ? [] : [uninstalledText(uninstalled)]),
  ];
  return parts.join('\n');
}

function removedText(
  bridges: readonly number[],
  images: readonly RemovedImage[],
  state: readonly ReturnType<typeof removeState>[],
  isAllBack: boolean,
): string {
  const lines = [
    ...(bridges.length === 0 ? [] : [`${countOf(bridges.length, 'shared bridge')} ended.`]),
    ...images.map((image) => removedLine(image).trimEnd()),
    ...state.map(({ folder, left }) =>
      left.length === 0
        ? `${visibleText(folder)}: removed`
        : `${visibleText(folder)}: our state is removed; ${left.map(visibleText).join(', ')} stays`,
    ),
    ...(isAllBack
      ? []
      : [
          `Some files of hosts are not what they were, as the notes above say. Their backups stay in ${HOST_CHANGES}.`,
        ]),
  ];
  return lines.join('\n');
}
