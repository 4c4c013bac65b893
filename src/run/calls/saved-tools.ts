// Functions that guest code keeps for later runs: one Python file each in the state directory, stored as text,
// handed back as text on request, never executed or imported by the host. A person may read, change and delete the
// files; what is no ordinary file there (a link, a pipe) is not looked into.

import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { didYouMean } from '../../base/text/closest.js';
import { KB_BYTES } from '../../base/text/sizes.js';
import { clip, clipHarmless, inOneLine } from '../../base/text/text.js';
import { PYTHON_KEYWORDS } from '../../servers/catalog/catalog.js';
import { stateDirRemedy } from '../../settings/files/state-dir.js';
import type { CallParams } from '../../wire/frames.js';

/** A long function has 5 KB; this bounds what a run can leave on the disk together with MAX_TOOLS. */
const MAX_SOURCE_BYTES = 64 * KB_BYTES;
const MAX_TOOLS = 200;
const NAME = /^[a-z_][a-z0-9_]{0,63}$/i;
/** The names that every run has; the guest refuses those that only it knows. */
const TAKEN = /^(?:__|mcp_)|^(?:mcp|runtime|save_tool|user_tools)$/;

/** Longest line at the head of a file. A list of tools is made from these lines without reading the rest. */
const MAX_HEAD_CHARS = 200;
const SIGNATURE_MARK = '# ';
const DESCRIPTION_MARK = '#: ';
/** When and by which run a tool was made and last changed: the third line, which is ours; elsewhere a comment of the code's. */
const HISTORY =
  /^#@ created (?<created>\S+), run (?<maker>\S+)(?:; changed (?<changed>\S+), run (?<changer>\S+))?$/;
const HISTORY_LINE = 2;
/** Three lines, in which a character takes three bytes at most. */
const HEAD_BYTES = 3 * (3 * MAX_HEAD_CHARS + 4);

type SavedTool = {
  readonly name: string;
  /** `add(a: int, b: int = 1)`, as Python shows it; empty in a file that a person wrote. */
  readonly signature: string;
  /** The first line of its docstring. */
  readonly description: string;
  /** When it was first saved, as ISO 8601; empty in a file that a person wrote. */
  readonly created: string;
  /** When it was last replaced; empty where it never was. */
  readonly changed: string;
  /** Id of the run that has saved it as it is now; empty in a file that a person wrote. */
  readonly run: string;
};

export class SavedTools {
  readonly #dir: string;
  readonly #enabled: boolean;

  constructor(stateDir: string, enabled: boolean) {
    this.#dir = join(stateDir, 'user-tools');
    this.#enabled = enabled;
  }

  list(): readonly SavedTool[] {
    return this.#names().map((name) => {
      const lines = (this.#read(name, HEAD_BYTES) ?? '').split(/\r?\n/);
      const after = (mark: string) => lines.find((line) => line.startsWith(mark))?.slice(mark.length) ?? '';
      const signature = oneLine(after(SIGNATURE_MARK));
      // In a file that a person wrote, the first comment is about something else.
      const { created, changed, run } = historyOf(lines);
      const isSignature = signature.replace(/^async /, '').startsWith(`${name}(`);
      return {
        name,
        signature: isSignature ? signature : '',
        description: oneLine(after(DESCRIPTION_MARK)),
        created,
        changed,
        run,
      };
    });
  }

  /** The file's text. Throws E_DENIED where there is none. */
  get(name: string): string {
    const names = this.#names();
    const text = names.includes(name) ? this.#read(name, MAX_SOURCE_BYTES + 1) : undefined;
    if (text !== undefined && Buffer.byteLength(text) <= MAX_SOURCE_BYTES) return text;
    if (text !== undefined) throw refuse(tooLarge(name));
    throw refuse(`There is no saved tool '${clip(name, 80)}'.${didYouMean(name, names)}`);
  }

  /**
   * Says whether there was one of this name. Throws E_DENIED for what is not kept and for what would replace another
   * without leave, E_STATE where nothing can be kept.
   */
  put(
    tool: Pick<SavedTool, 'name' | 'signature' | 'description'> & { readonly source: string },
    { run, mayReplace }: { readonly run: string; readonly mayReplace: boolean },
  ): { readonly replaced: boolean } {
    const { name } = tool;
    if (!this.#enabled) throw refuse('Saving tools is switched off (MCP_BRIDGE_SAVE_TOOLS=off).');
    if (!NAME.test(name) || TAKEN.test(name) || PYTHON_KEYWORDS.has(name))
      throw refuse(`'${clip(name, 80)}' is not a name for a saved tool: use a plain Python function name.`);
    const names = this.#names();
    const replaced = names.includes(name);
    // Some file systems take the two for one file.
    const twin = names.find((other) => other !== name && other.toLowerCase() === name.toLowerCase());
    if (twin !== undefined)
      throw refuse(
        `'${name}' differs from the saved tool '${twin}' only in upper and lower case. Choose another name.`,
      );
    if (!replaced && names.length >= MAX_TOOLS)
      throw refuse(
        `There are ${MAX_TOOLS} saved tools already, which is the limit. The user can delete those that are not needed.`,
      );
    const before = replaced ? historyOf((this.#read(name, HEAD_BYTES) ?? '').split(/\r?\n/)) : undefined;
    if (before !== undefined && !mayReplace) throw takenError(name, before);
    const text = [
      `${SIGNATURE_MARK}${oneLine(tool.signature)}`,
      `${DESCRIPTION_MARK}${oneLine(tool.description)}`,
      historyLine(before, run, new Date().toISOString()),
      tool.source.toWellFormed(),
    ].join('\n');
    if (Buffer.byteLength(text) > MAX_SOURCE_BYTES) throw refuse(tooLarge(name));
    this.#write(name, text);
    return { replaced };
  }

  #write(name: string, text: string): void {
    try {
      replaceFile(join(this.#dir, `${name}.py`), text);
    } catch (cause) {
      // Without the path, which is none of the guest's business.
      throw new BridgeError('E_STATE', `'${name}' cannot be saved: the state directory cannot be written.`, {
        fault: 'operator',
        remedy: stateDirRemedy(cause),
        cause,
      });
    }
  }

  #names(): string[] {
    try {
      return readdirSync(this.#dir, { withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.py') && NAME.test(entry.name.slice(0, -3)))
        .map((entry) => entry.name.slice(0, -3))
        .sort();
    } catch {
      return [];
    }
  }

  /** At most `maxBytes` from its start; undefined where it is no file any more. */
  #read(name: string, maxBytes: number): string | undefined {
    let file: number | undefined;
    try {
      // Between the listing and now it may have become something else: links are not followed, pipes not waited for.
      const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
      file = openSync(join(this.#dir, `${name}.py`), flags);
      if (!fstatSync(file).isFile()) return undefined;
      const buffer = Buffer.alloc(maxBytes);
      return buffer.toString('utf8', 0, readSync(file, buffer, 0, maxBytes, 0));
    } catch {
      return undefined;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }
}

type ToolHistory = Pick<SavedTool, 'created' | 'changed' | 'run'> & { readonly maker: string };

function historyOf(lines: readonly string[]): ToolHistory {
  const {
    created = '',
    maker = '',
    changed = '',
    changer,
  } = HISTORY.exec(lines[HISTORY_LINE] ?? '')?.groups ?? {};
  return { created, changed, maker, run: changer ?? maker };
}

function historyLine(before: ToolHistory | undefined, run: string, at: string): string {
  if (before === undefined || before.created === '') return `#@ created ${at}, run ${run}`;
  const created = `#@ created ${before.created}, run ${before.maker}`;
  // A run that corrects its own tool has made one, not two.
  return before.run === run && before.changed === '' ? created : `${created}; changed ${at}, run ${run}`;
}

function takenError(name: string, { created, run }: ToolHistory): BridgeError {
  const by = created === '' ? 'in a file that no run has written' : `by run ${run}, first at ${created}`;
  return new BridgeError('E_DENIED', `There is a saved tool '${name}' already, ${by}.`, {
    fault: 'guest',
    remedy: `To replace it: save_tool(${name}, replace=True). To keep both, give this function another name.`,
  });
}

/** Text of the guest's or of a person's file, for a list. */
function oneLine(text: string): string {
  return clipHarmless(inOneLine(text), MAX_HEAD_CHARS);
}

const tooLarge = (name: string) => `The source of '${name}' is larger than ${MAX_SOURCE_BYTES} bytes.`;

const refuse = (message: string) => new BridgeError('E_DENIED', message, { fault: 'guest' });

// Rights of one run over the functions that are kept for later runs: save a few of its own, and put one in the place of another
// run's only where its code asks for that. Whoever reads the answer hears of such a replacement from here, whatever the code
// does with what save_tool() told it.

/** A library of helpers has a handful; a run that saves more fills the 200 places of all runs. */
const MAX_SAVED_PER_RUN = 8;

export class SavedByRun {
  readonly #saved: SavedTools;
  readonly #run: string;
  readonly #own = new Set<string>();
  readonly #replaced = new Set<string>();

  constructor(saved: SavedTools, run: string) {
    this.#saved = saved;
    this.#run = run;
  }

  list(): readonly SavedTool[] {
    return this.#saved.list();
  }

  get(name: string): string {
    return this.#saved.get(name);
  }

  /** Throws E_DENIED for what this run may not save, E_STATE where nothing can be. */
  put({ replace, ...tool }: CallParams['saved.put']): { readonly replaced: boolean } {
    const isOwn = this.#own.has(tool.name);
    if (!isOwn && this.#own.size >= MAX_SAVED_PER_RUN) throw tooMany([...this.#own]);
    const { replaced } = this.#saved.put(tool, { run: this.#run, mayReplace: isOwn || replace });
    this.#own.add(tool.name);
    if (replaced && !isOwn) this.#replaced.add(tool.name);
    return { replaced };
  }

  /** Note for the answer: which saved tools of earlier runs this run has replaced. */
  get note(): string | undefined {
    if (this.#replaced.size === 0) return undefined;
    return `This run has replaced saved tools of earlier runs: ${[...this.#replaced].join(', ')}.`;
  }
}

const tooMany = (names: readonly string[]): BridgeError =>
  new BridgeError(
    'E_DENIED',
    `This run has saved ${MAX_SAVED_PER_RUN} functions, the most that one run may save: ${names.join(', ')}.`,
    { fault: 'guest', remedy: 'Save this one in a later run.' },
  );
