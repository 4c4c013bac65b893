// The templates of one engine: which profile has one, when one is made, and why sandboxes are started by the engine's client
// where they are. A template is made behind the second sandbox of its profile, since many a bridge starts one alone; until it
// has been tried, and where it does not do, the client starts what there is to start. A template is a container like any other, so
// the engine's own clock ends it, at the latest when it would end a sandbox; one that is in use is followed by another before.

import { BridgeError, messageOf } from '../../base/errors.js';
import { environmentWith } from '../../base/process/process.js';
import { findProgram } from '../../base/process/start-of.js';
import { clip } from '../../base/text/text.js';
import type { OtherLaunch, OtherLaunchParts } from '../client/cli-engine.js';
import type { Container, SandboxSpec } from '../engine.js';
import { isGvisor } from '../machine/oci-runtime.js';
import { CLOCK_PROGRAMS } from './clock.js';
import { Template } from './template.js';

/** More than most bridges have languages and kinds; each template is a process that waits, as large as a sandbox that waits. */
const MOST = 6;
/** How many templates may be lost before the client starts everything: somebody wants them gone. */
const MOST_LOST = 20;
const MAX_SAID_CHARS = 300;
/** A sandbox of a session may live for hours, and its template waits no longer than others for somebody to use it. */
const LIVES_AT_MOST_SECONDS = 900;
/** Parts of the time that the engine lets a template live: after which it is made anew where it is used, and after which it ends. */
const OLD_AFTER = 0.5;
const ENDS_AFTER = 0.9;
/** Where engines look for OCI runtimes besides the PATH. */
const USUAL_PLACES = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/sbin', '/bin'];

/** A profile, as far as it is known. The first sandbox of it leaves an empty entry. */
type Entry = { template?: Template; making?: Promise<void>; refusedBecause?: string };

export class Templates implements OtherLaunch {
  readonly #parts: OtherLaunchParts;
  /** By their profiles; the one that was used last is the last. */
  readonly #entries = new Map<string, Entry>();
  readonly #ending = new Set<Promise<void>>();
  readonly #unfit: string | undefined;
  /** The templates from which containers of these specs were started. */
  readonly #sources = new WeakMap<SandboxSpec, Template>();
  #stamp = '';
  #lost = 0;
  #isClosed = false;

  constructor(parts: OtherLaunchParts) {
    const env = { PATH: [environmentWith({})['PATH'] ?? '', ...USUAL_PLACES].join(':') };
    const found = findProgram(parts.runtime.name, env);
    this.#parts = { ...parts, runtime: { ...parts.runtime, name: found ?? parts.runtime.name } };
    this.#unfit = whyNever(parts, env);
    if (this.#unfit !== undefined) this.#parts.tellByClient(this.#unfit);
  }

  start(spec: SandboxSpec): Container | undefined {
    if (this.#isClosed || this.whyByClient(spec) !== undefined) return undefined;
    const { entry, isNew } = this.#entryOf(spec);
    if (entry.template?.isRunning === false) this.#lose(entry, 'it was ended');
    const { template } = entry;
    const isWanted = template === undefined ? !isNew : template.msUntil(OLD_AFTER) < 0;
    if (isWanted && entry.refusedBecause === undefined) entry.making ??= this.#make(entry, spec);
    return template && this.#startFrom(template, spec);
  }

  giveUp(spec: SandboxSpec): boolean {
    const template = this.#sources.get(spec);
    if (template === undefined) return false;
    for (const entry of this.#entries.values())
      if (entry.template === template) this.#lose(entry, 'a sandbox did not start from it');
    return true;
  }

  /** Reason why the client starts such a sandbox whatever is tried; undefined where a template can be. */
  whyByClient({ network, volumes }: SandboxSpec): string | undefined {
    if (this.#unfit !== undefined) return this.#unfit;
    if (this.#lost >= MOST_LOST) return `${this.#lost} templates were lost`;
    // The engine makes the way out, and takes it away with its container; and it knows by its containers who has a volume.
    if (network !== 'none') return 'it has a network';
    if (volumes.length > 0) return 'it has a volume';
    return undefined;
  }

  async prepare(spec: SandboxSpec): Promise<string | undefined> {
    const why = this.whyByClient(spec);
    if (why !== undefined || this.#isClosed) return why;
    const { entry } = this.#entryOf(spec);
    if (entry.template?.isRunning !== true && entry.refusedBecause === undefined) {
      entry.making ??= this.#make(entry, spec);
      await entry.making;
    }
    return entry.refusedBecause;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const entry of this.#entries.values()) this.#forget(entry);
    this.#entries.clear();
    // One that is being made is among them, and ends when it is made.
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }

  #entryOf(spec: SandboxSpec): { readonly entry: Entry; readonly isNew: boolean } {
    this.#forgetOldImages();
    const profile = profileOf(spec);
    const known = this.#entries.get(profile);
    const entry = known ?? {};
    this.#entries.delete(profile);
    this.#makeRoom();
    this.#entries.set(profile, entry);
    return { entry, isNew: known === undefined };
  }

  #startFrom(template: Template, spec: SandboxSpec): Container | undefined {
    try {
      const sandbox = template.start(spec);
      this.#sources.set(spec, template);
      return sandbox;
    } catch (thrown) {
      if (thrown instanceof BridgeError) throw thrown;
      // No room for its files, or no descriptors: the client has better words for that.
      return undefined;
    }
  }

  /** Never rejects. */
  async #make(entry: Entry, spec: SandboxSpec): Promise<void> {
    try {
      const deadManSeconds = Math.min(spec.deadManSeconds, LIVES_AT_MOST_SECONDS);
      const template = await Template.make(this.#parts, {
        ...spec,
        name: `${spec.name}-template`,
        deadManSeconds,
      });
      this.#end(entry);
      entry.template = template;
      this.#endInTime(entry, template);
    } catch (thrown) {
      entry.refusedBecause = clip(messageOf(thrown), MAX_SAID_CHARS);
      if (!this.#isClosed) this.#parts.tellByClient(`a template does not do: ${entry.refusedBecause}`);
    } finally {
      delete entry.making;
    }
  }

  #lose(entry: Entry, why: string): void {
    this.#lost++;
    this.#parts.tellTrouble(`a template for sandboxes is lost and made anew: ${why}`);
    this.#end(entry);
  }

  /** Before the engine does; one that nobody has used of late has not been made anew. */
  #endInTime(entry: Entry, template: Template): void {
    setTimeout(() => {
      if (entry.template === template) this.#end(entry);
    }, template.msUntil(ENDS_AFTER)).unref();
  }

  /** Behind everybody's back; disposal waits for it. */
  #end(entry: Entry): void {
    const { template } = entry;
    delete entry.template;
    const ending = Promise.resolve(template?.[Symbol.asyncDispose]()).finally(() =>
      this.#ending.delete(ending),
    );
    this.#ending.add(ending);
  }

  /** For good, so that what is being made is ended as well. */
  #forget(entry: Entry): void {
    this.#end(entry);
    const ending = (entry.making ?? Promise.resolve()).then(() => {
      this.#ending.delete(ending);
      this.#end(entry);
    });
    this.#ending.add(ending);
  }

  #makeRoom(): void {
    const [oldest] = this.#entries;
    if (oldest === undefined || this.#entries.size < MOST) return;
    const [profile, entry] = oldest;
    this.#entries.delete(profile);
    this.#forget(entry);
  }

  /** A name of an image may be another image's by now. */
  #forgetOldImages(): void {
    const stamp = this.#parts.imageStamp();
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    for (const entry of this.#entries.values()) this.#forget(entry);
    this.#entries.clear();
  }
}

/**
 * Everything in which sandboxes differ that one template cannot be for both. Users are drawn by lot, and an owner's id is not in the template's map unless somebody outside is that user.
 */
function profileOf({ name: _, labels: __, user, ...spec }: SandboxSpec): string {
  return JSON.stringify(spec.owner === undefined ? spec : { ...spec, user });
}

function whyNever(
  { runtime, isRootless }: OtherLaunchParts,
  env: { readonly PATH: string },
): string | undefined {
  if (isGvisor(runtime.name)) return 'gVisor has its own way to start';
  const programs = [runtime.name, ...CLOCK_PROGRAMS, ...(isRootless ? ['nsenter', 'base64'] : [])];
  const missing = programs.find((name) => findProgram(name, env) === undefined);
  return missing && `${missing} is not installed`;
}
