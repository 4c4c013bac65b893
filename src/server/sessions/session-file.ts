// What is said of each session in the state directory: for people, who are in another process, and for a later bridge, which
// has to know that a session has ended with the bridge that had it. Nothing in it opens or ends anything.

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readText } from '../../base/read-text.js';
import { replaceFile } from '../../base/replace-file.js';
import { isAlive, type Owner, thisOwner } from '../../engine/owner.js';

const FOLDER = 'sessions';
const RECORD = /^(s-[a-z0-9]{16})\.json$/;
/** A person has ended it from outside. */
const ended = (handle: string): string => `${handle}.ended`;

const owner = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string(), machine: z.string() });
const record = z.object({
  handle: z.string(),
  name: z.string(),
  client: z.string(),
  /** The bridge that has it. */
  owner,
  container: z.string(),
  /** Of its first process on this machine; null where another one runs it. */
  pid: z.int().nullable(),
  memoryLimitBytes: z.int(),
  /** ISO 8601. */
  createdAt: z.string(),
  lastCallAt: z.string(),
  calls: z.int(),
  /** It has ended with its bridge, while the process of that one may go on for other windows. */
  hasEnded: z.boolean(),
  idleSeconds: z.int(),
  lifeSeconds: z.int(),
});

export type SessionRecord = Readonly<z.infer<typeof record>>;

export class SessionFiles {
  readonly #dir: string;
  readonly #owner: Owner = thisOwner();

  constructor(stateDir: string) {
    this.#dir = join(stateDir, FOLDER);
  }

  /** Throws what the file system says. */
  write(session: Omit<SessionRecord, 'owner'>): void {
    const text = JSON.stringify({ ...session, owner: this.#owner });
    replaceFile(join(this.#dir, `${session.handle}.json`), text);
  }

  remove(handle: string): void {
    for (const name of [`${handle}.json`, ended(handle)]) rmSync(join(this.#dir, name), { force: true });
  }

  /** Those that live, of all bridges of this state directory, the one that was called last first. */
  all(): readonly SessionRecord[] {
    return this.#records().filter(({ hasEnded, owner }) => !hasEnded && isAlive(owner));
  }

  /**
   * Whether a bridge that is there no more has had one of this name, and since when nobody has called it; what is found is
   * removed, so that it is said once.
   */
  takeOrphan(name: string): SessionRecord | undefined {
    const orphans = this.#records().filter((each) => !isAlive(each.owner));
    for (const each of orphans) this.remove(each.handle);
    return orphans.find((each) => each.name === name);
  }

  /** Says that a person ends it, which its bridge looks for when it has ended. */
  markEnded(handle: string): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.#dir, ended(handle)), '', { mode: 0o600 });
  }

  isMarkedEnded(handle: string): boolean {
    return existsSync(join(this.#dir, ended(handle)));
  }

  /** Of dead bridges too, the one that was called last first. */
  #records(): readonly SessionRecord[] {
    return this.#handles()
      .flatMap((handle) => this.#read(handle) ?? [])
      .sort((one, other) => (one.lastCallAt < other.lastCallAt ? 1 : -1));
  }

  #handles(): readonly string[] {
    try {
      return readdirSync(this.#dir).flatMap((name) => RECORD.exec(name)?.[1] ?? []);
    } catch {
      // No bridge has had one yet.
      return [];
    }
  }

  #read(handle: string): SessionRecord | undefined {
    try {
      const text = readText(join(this.#dir, `${handle}.json`));
      const parsed = record.safeParse(JSON.parse(text ?? ''));
      return parsed.success && parsed.data.handle === handle ? parsed.data : undefined;
    } catch {
      return undefined;
    }
  }
}
