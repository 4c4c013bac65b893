// `kept`: files that the runs of all bridges have left, for people: listed, opened with the program of the desktop, or saved
// under a name. Every name was chosen by code in a sandbox: none is printed as it is, and none leads out of its folder.

import { lstatSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { findClosest } from '../../base/text/closest.js';
import { clip } from '../../base/text/text.js';
import { duration } from '../../run/answer/files.js';
import { type SurveyedFile, surveyKept } from '../../run/artifacts/kept-files.js';
import { prepare } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { coloursFor, megabytes, printJson, usageError, visibleText } from '../terminal/output.js';

import { hangText, paragraph, widthOf } from '../terminal/wrap.js';
import { writeOut } from '../terminal/write-out.js';

/** Characters of a handle that tell one run's files from another's in a list. */
const SHORT_HANDLE_CHARS = 8;
const MAX_ECHO_CHARS = 200;

export async function listKept({ json }: { readonly json?: true }): Promise<void> {
  const { files, keepSeconds } = await survey();
  if (json) {
    const listed = files.map(({ uri, name, sizeBytes, mimeType, run, atMs, path }) => ({
      ...{ address: uri, name, bytes: sizeBytes, mimeType },
      ...(run === undefined ? {} : { run }),
      ...{ at: new Date(atMs).toISOString(), path },
    }));
    printJson({ kept: listed, keepSeconds });
    return;
  }
  process.stdout.write(
    files.length === 0 ? paragraph(nothingKeptText(keepSeconds)) : keptText(files, keepSeconds),
  );
}

/** Opens a file with the program that the desktop has for its type; only types that we have recognised. */
export async function openKept(name: string): Promise<void> {
  const file = await findKept(name);
  const shown = visibleText(file.name);
  if (file.mimeType === 'application/octet-stream')
    throw new BridgeError('E_ARGUMENTS', `The type of '${shown}' is not known to be safe to open.`, {
      fault: 'operator',
      remedy: `To save it and look at it yourself: ${saveCommand(file)}`,
    });
  const { default: open } = await import('open');
  const cannot = (why: string) =>
    new BridgeError('E_PROCESS', `'${shown}' could not be opened: ${why}.`, {
      fault: 'operator',
      remedy: `It is in ${file.path}. To save it: ${saveCommand(file)}`,
    });
  if (process.platform === 'linux' && !process.env['DISPLAY'] && !process.env['WAYLAND_DISPLAY'])
    throw cannot('there is no desktop here (neither DISPLAY nor WAYLAND_DISPLAY is set)');
  try {
    const program = await open(file.path);
    program.on('error', () => {});
  } catch (thrown) {
    throw cannot(messageOf(thrown));
  }
  process.stderr.write(`Opened ${shown}. It stays in ${file.path} until it is removed.\n`);
}

/** Copies a file into a folder of the user's; what is there stays, unless `force` is given. */
export async function saveKept(
  name: string,
  {
    to,
    as,
    force,
  }: {
    readonly to: string;
    /** The name of the saved file; without it, the last part of its own. */
    readonly as?: string;
    readonly force?: true;
  },
): Promise<void> {
  const file = await findKept(name);
  const target = as ?? basename(file.name);
  const folder = resolve(to);
  const path = join(folder, target);
  if (force === undefined && lstatSync(path, { throwIfNoEntry: false }) !== undefined)
    throw usageError(
      `${visibleText(path)} already exists.`,
      `Add --force to replace it, or give another name: --as NAME.`,
    );
  const problem = writeOut(folder, target, contentOf(file), { replaces: force === true });
  if (problem !== undefined)
    throw new BridgeError('E_ARGUMENTS', `${visibleText(problem)}.`, {
      fault: 'operator',
      remedy: 'Give another name (--as NAME) or another folder (--to FOLDER).',
    });
  process.stdout.write(`${visibleText(path)}\n`);
}

function contentOf({ name, path }: SurveyedFile): Buffer {
  try {
    return readFileSync(path);
  } catch (thrown) {
    throw new BridgeError('E_STATE', `'${visibleText(name)}' cannot be read: ${messageOf(thrown)}.`, {
      fault: 'operator',
      remedy: `It may just have been removed. To list the kept files: ${ownCommand('kept')}`,
    });
  }
}

async function survey() {
  // Prepared for its settings alone: a command that ends by itself would keep nothing.
  const { settings } = prepare('error', 'serves');
  const { stateDir, keepSeconds } = settings;
  try {
    return { files: await surveyKept({ stateDir, keepSeconds }), keepSeconds };
  } catch (thrown) {
    throw new BridgeError('E_STATE', `The kept files cannot be read: ${messageOf(thrown)}.`, {
      fault: 'operator',
      remedy: `Check the permissions of ${join(stateDir, 'kept')}.`,
    });
  }
}

/** The newest file of that name, address, short address or last part of a name. */
async function findKept(wanted: string): Promise<SurveyedFile> {
  const { files, keepSeconds } = await survey();
  const fits: ReadonlyArray<(file: SurveyedFile) => boolean> = [
    ({ uri }) => uri === wanted,
    (file) => shortAddress(file) === wanted,
    ({ name }) => name === wanted,
    ({ name }) => basename(name) === wanted,
  ];
  const found = fits.map((fit) => files.filter(fit)).find((some) => some.length > 0);
  const [newest, ...others] = found ?? [];
  if (newest === undefined) {
    const echo = visibleText(clip(wanted, MAX_ECHO_CHARS));
    const names = files.flatMap(({ name }) => [name, basename(name)]);
    const near = findClosest(wanted, names);
    throw usageError(
      `No kept file '${echo}'.${near === undefined ? '' : ` Did you mean '${visibleText(near)}'?`}`,
      files.length === 0
        ? nothingKeptText(keepSeconds)
        : `Files are kept for ${duration(keepSeconds)}. To list them: ${ownCommand('kept')}`,
    );
  }
  if (others.length > 0)
    process.stderr.write(
      `${others.length + 1} files match; this is the newest, ${visibleText(shortAddress(newest))}. For another one, give its address from \`kept\`.\n`,
    );
  return newest;
}

/** `0123abcd/out/chart.png`: short enough for a line, and understood by `open` and `save`. */
const shortAddress = ({ uri, name }: SurveyedFile): string =>
  `${uri.split('/')[4]?.slice(0, SHORT_HANDLE_CHARS)}/${name}`;

const saveCommand = (file: SurveyedFile): string =>
  ownCommand('kept', 'save', visibleText(shortAddress(file)));

const nothingKeptText = (keepSeconds: number): string =>
  keepSeconds === 0
    ? 'Nothing is kept: MCP_BRIDGE_KEEP_SECONDS is 0.'
    : `No kept files. Files of runs are kept for ${duration(keepSeconds)} (MCP_BRIDGE_KEEP_SECONDS).`;

/** Text for people; ends with a newline. Where the full addresses do not fit the terminal, the short ones stand there. */
export function keptText(files: readonly SurveyedFile[], keepSeconds: number, now = Date.now()): string {
  const paint = coloursFor(process.stdout);
  const width = widthOf(process.stdout);
  const head = ['address', 'size', 'type', 'left', 'run'].map((word) => paint.dim(word));
  const rowsWith = (address: (file: SurveyedFile) => string) =>
    files.map((file) => [
      visibleText(address(file)),
      size(file.sizeBytes),
      paint.dim(visibleText(file.mimeType)),
      `${duration(Math.max(0, Math.round((now - file.atMs) / 1000)))} ago`,
      paint.dim(visibleText(file.run ?? '')),
    ]);
  const full = columns([head, ...rowsWith(({ uri }) => uri)]);
  const fits = width === undefined || full.split('\n').every((line) => line.length <= width);
  const short = { width, wraps: [0], drops: [2, 4] };
  const table = fits ? full : columns([head, ...rowsWith(shortAddress)], short);
  const count = files.length === 1 ? '1 file' : `${files.length} files`;
  const save = ownCommand('kept', 'save', 'ADDRESS');
  const open = ownCommand('kept', 'open', 'ADDRESS');
  const next = `${count}, each kept for ${duration(keepSeconds)}. \`${save}\` copies one here, \`${open}\` opens it.`;
  return `${table}\n${hangText(next, 0, width)}\n`;
}

const size = (bytes: number): string => (bytes < 100_000 ? `${bytes} B` : megabytes(bytes));
