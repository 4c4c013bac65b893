// The folder `approvals/` of a state directory: a file for each question that waits, and one for its answer. Bridges and
// the command line meet here, and nobody but their user may look in.

import {
  chmodSync,
  type FSWatcher,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import { changedMs, readPrivate } from '../../base/files/private-file.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { isAlive } from '../../base/process/owner.js';
import { principalStateDirs } from '../../settings/files/state-dir.js';
import {
  answerText,
  type FiledAnswer,
  type FiledQuestion,
  filedAnswer,
  filedQuestion,
  MAX_ANSWER_BYTES,
  MAX_QUESTION_BYTES,
} from './question-file.js';

const APPROVALS = 'approvals';
const QUESTION_FILE = /^(q-[a-z0-9]{16})\.json$/;
/** All that we ever write there, the beginnings of files that a killed process has left too. */
const OWN_FILE = /^q-[a-z0-9]{16}\.(?:json|answer|json\.[0-9a-f-]{36})$/;
/** How long the end of a question can be read, for those who look late. */
const CLOSED_KEPT_MS = 600_000;
/** A bridge on another machine cannot be asked whether it lives; after this its question is nobody's any more. */
const OVERDUE_MS = 3_600_000;
/** Younger ones may be being written. */
export const UNFINISHED_MS = 2_000;

/** Why a file of the folder cannot be taken for a question; the end of a sentence about it. */
export type Unreadable = { readonly file: string; readonly why: string };

/** The folders of a state directory: the user's own one, and those of principals who have a directory of their own. */
export const inboxFolders = (stateDir: string): readonly InboxFolder[] =>
  [stateDir, ...principalStateDirs(stateDir)].map((dir) => new InboxFolder(dir));

export class InboxFolder {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, APPROVALS);
  }

  /** Makes it, for its owner alone. Throws E_STATE where it cannot be, or where it is somebody else's or a link. */
  make(): void {
    try {
      mkdirSync(this.path, { recursive: true, mode: 0o700 });
      const stats = lstatSync(this.path);
      const uid = process.getuid?.();
      if (!stats.isDirectory()) throw new Error('it is a link, or not a folder');
      if (uid !== undefined && stats.uid !== uid) throw new Error(`it belongs to user ${stats.uid}`);
      // One that was there may have been opened to others.
      if (uid !== undefined && (stats.mode & 0o077) !== 0) chmodSync(this.path, 0o700);
    } catch (cause) {
      throw new BridgeError('E_STATE', `Questions cannot be kept in ${this.path}: ${messageOf(cause)}.`, {
        fault: 'operator',
        remedy: 'Make it writable for this user alone, or set MCP_BRIDGE_STATE_DIR to another folder.',
        cause,
      });
    }
  }

  /** Puts the text of a question, open or closed, in its place. Throws what the file system says. */
  write(id: string, text: string): void {
    replaceFile(this.#questionFile(id), text);
  }

  /** Takes both files of a question away; what cannot be removed stays. */
  remove(id: string): void {
    removeFile(this.#questionFile(id));
    this.removeAnswer(id);
  }

  removeAnswer(id: string): void {
    removeFile(this.#answerFile(id));
  }

  /** Looks for questions of living bridges, and for files that are no questions. Finds nothing where there is no folder. */
  look(): { readonly questions: readonly FiledQuestion[]; readonly unreadable: readonly Unreadable[] } {
    const questions: FiledQuestion[] = [];
    const unreadable: Unreadable[] = [];
    for (const [, id = ''] of this.#names().map((name) => QUESTION_FILE.exec(name) ?? [])) {
      if (id === '') continue;
      const found = this.question(id);
      if (found === undefined) continue;
      if ('why' in found) unreadable.push(found);
      else if (isAlive(found.owner)) questions.push(found);
    }
    return { questions, unreadable };
  }

  /** Undefined where there is none. */
  question(id: string): FiledQuestion | Unreadable | undefined {
    const file = this.#questionFile(id);
    const text = readPrivate(file, MAX_QUESTION_BYTES, 'written');
    if (text.is === 'absent') return undefined;
    if (text.is === 'refused') return { file, why: text.why };
    const found = filedQuestion(text.text);
    const named = found?.is === 'open' ? found.question.id : found?.id;
    return found === undefined || named !== id ? { file, why: 'is not the file of a question' } : found;
  }

  /** Puts an answer beside its question; false where somebody was first. Throws what the file system says. */
  putAnswer(answer: FiledAnswer): boolean {
    try {
      writeFileSync(this.#answerFile(answer.id), answerText(answer), { mode: 0o600, flag: 'wx' });
      return true;
    } catch (thrown) {
      if (Object(thrown).code === 'EEXIST') return false;
      throw thrown;
    }
  }

  /** `changedMs` is since when the file is as it is, in ms since 1970. */
  answer(
    id: string,
  ):
    | { readonly is: 'absent' }
    | { readonly is: 'answer'; readonly answer: FiledAnswer }
    | { readonly is: 'refused'; readonly why: string; readonly changedMs: number } {
    const file = this.#answerFile(id);
    const text = readPrivate(file, MAX_ANSWER_BYTES, 'written');
    if (text.is === 'absent') return text;
    const answer = text.is === 'read' ? filedAnswer(text.text) : undefined;
    if (answer !== undefined && answer.id === id) return { is: 'answer', answer };
    const why = text.is === 'refused' ? text.why : 'is not an answer to this question';
    return { is: 'refused', why, changedMs: changedMs(file) };
  }

  /** Removes what nobody waits for: questions of bridges that have ended, old ends, and leftovers. Never throws. */
  sweep(nowMs = Date.now()): void {
    for (const name of this.#names()) {
      if (!OWN_FILE.test(name)) continue;
      const id = name.slice(0, name.indexOf('.'));
      if (QUESTION_FILE.test(name)) {
        const found = this.question(id);
        if (found !== undefined && !('why' in found) && isOver(found, nowMs)) this.remove(id);
      } else if (changedMs(join(this.path, name)) < nowMs - OVERDUE_MS && this.question(id) === undefined)
        removeFile(join(this.path, name));
    }
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.path);
    } catch {
      return [];
    }
  }

  readonly #questionFile = (id: string): string => join(this.path, `${id}.json`);
  readonly #answerFile = (id: string): string => join(this.path, `${id}.answer`);
}

function isOver(found: FiledQuestion, nowMs: number): boolean {
  if (!isAlive(found.owner)) return true;
  return found.is === 'open'
    ? Date.parse(found.question.expiresAt) < nowMs - OVERDUE_MS
    : Date.parse(found.closed.at) < nowMs - CLOSED_KEPT_MS;
}

/** A link goes itself and not what it leads to; a folder stays. */
function removeFile(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The file is looked at again with the next question.
  }
}

/** How often a watched folder is looked at in any case. */
const LOOK_EVERY_MS = 2_000;

/**
 * Notices that something in a folder has changed: by the system's word where it gives one, and by looking every few seconds
 * where it does not, as on network file systems. Keeps no process alive.
 */
export class FolderWatch implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;

  /**
   * Calls `look` after each change and every `everyMs`; changes that follow each other at once are one. A test gives its own
   * `watched`.
   */
  constructor(folder: string, look: () => void, everyMs = LOOK_EVERY_MS, watched: typeof watch = watch) {
    let isDue = false;
    const soon = () => {
      if (isDue) return;
      isDue = true;
      setImmediate(() => {
        isDue = false;
        if (this.#watcher !== undefined) look();
      });
    };
    this.#timer = setInterval(look, everyMs);
    this.#timer.unref();
    try {
      this.#watcher = watched(folder, { persistent: false }, soon);
      // Such as a folder that goes away: then there is the timer.
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      // Too many are watched on this machine already, or this file system has no word for it.
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#unwatch();
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
