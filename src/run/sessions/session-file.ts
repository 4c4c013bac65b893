// Records of each session in the state directory: for people, who are in another process, and for a later bridge, which has to
// know that a session has ended with the bridge that had it. Nothing in a record opens or ends anything.

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { isAlive, isOwner, type Owner, thisOwner } from '../../base/process/owner.js';

const FOLDER = 'sessions';
/** Nobody goes on with what was last called so long ago. */
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;
const RECORD = /^(s-[a-z0-9]{16})\.json$/;
/** A person has ended it from outside. */
const endedName = (handle: string): string => `${handle}.ended`;

const record = z.object({
  handle: z.string(),
  name: z.string(),
  client: z.string(),
  /** The bridge that has it. */
  owner: z.custom<Owner>(isOwner),
  /** Whose it is, by id; null for the user who started the bridge. */
  principal: z.string().nullable(),
  /** Within which its name means it, where that outlives a connection; else null. */
  scope: z.string().nullable(),
  container: z.string(),
  /** The session's first process, where the machine of its owner runs it; else null. */
  process: z.object({ pid: z.int(), startTime: z.string() }).nullable(),
  memoryLimitBytes: z.int(),
  /** ISO 8601. */
  createdAt: z.string(),
  lastCallAt: z.string(),
  calls: z.int(),
  idleSeconds: z.int(),
  lifeSeconds: z.int(),
  /** Why it has ended, where its name outlives its bridge and somebody may ask; null while it lives. */
  ended: z.string().nullable(),
});

export type SessionRecord = Readonly<z.infer<typeof record>>;

/** Words of a call about the session that it wants. */
type MeantSession = {
  readonly name: string;
  /** Null where a connection has it: then only one of the same program is meant, since others have names of their own. */
  readonly scope: string | null;
  /** Name and version. */
  readonly client: string;
};

const isMeant = (record: SessionRecord, { name, scope, client }: MeantSession): boolean =>
  record.name === name &&
  record.scope === scope &&
  (scope !== null || programOf(record.client) === programOf(client));

/** Without its version: an upgrade ends bridges, and is no reason to say nothing of it. */
const programOf = (client: string): string => client.replace(/ [^ ]*$/, '');

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
    for (const name of [`${handle}.json`, endedName(handle)]) rmSync(join(this.#dir, name), { force: true });
  }

  /**
   * Sessions of all bridges of this state directory, the one called last first; those that have ended and those of dead bridges
   * too.
   */
  all(): readonly SessionRecord[] {
    return this.#handles()
      .flatMap((handle) => this.#read(handle) ?? [])
      .sort((one, other) => (one.lastCallAt < other.lastCallAt ? 1 : -1));
  }

  /** Record of a session that has ended, or whose bridge is there no more, and that `meant` could mean. */
  orphan(meant: MeantSession): SessionRecord | undefined {
    return this.#orphans().find((each) => isMeant(each, meant));
  }

  /** Nobody has to be told any more: there is another one of this name. */
  forgetOrphans(meant: MeantSession): void {
    for (const each of this.#orphans()) {
      const isForgotten = Date.now() - Date.parse(each.lastCallAt) > FORGOTTEN_AFTER_MS;
      if (isForgotten || isMeant(each, meant)) this.remove(each.handle);
    }
  }

  /** Says that a person ends it, which its bridge looks for when it has ended. */
  markEnded(handle: string): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.#dir, endedName(handle)), '', { mode: 0o600 });
  }

  /** Takes the mark back: the session goes on, since it could not be ended. */
  unmarkEnded(handle: string): void {
    rmSync(join(this.#dir, endedName(handle)), { force: true });
  }

  isMarkedEnded(handle: string): boolean {
    return existsSync(join(this.#dir, endedName(handle)));
  }

  /** While its bridge's process lives, what a connection had is of no concern to another one. */
  #orphans(): readonly SessionRecord[] {
    return this.all().filter(
      ({ ended: why, scope, owner }) => !isAlive(owner) || (why !== null && scope !== null),
    );
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
