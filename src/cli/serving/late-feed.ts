// Feed of a bridge to the page of `ui`, loaded a moment after the bridge is whole: until then events of runs wait here, and a
// bridge that nobody calls has neither code nor socket of it.

import { isObject } from '../../base/json/records.js';
import type { BridgeEvent, Observer } from '../../base/log/events.js';
import { loadedOnce } from '../../base/replaced-part.js';
import type { Redact } from '../../base/secrets/redact.js';
import { clip } from '../../base/text/text.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Bridge } from '../../tenant/bridge.js';
import type { Feed } from '../../watch/feed/feed.js';
import type { BridgeFacts } from '../../watch/told/told.js';

const loadFeed = loadedOnce(() => import('../../watch/feed/feed.js'));

/** A first call goes ahead of the page. */
const LOADS_AFTER_MS = 100;
/** A run may make many calls before the page's part is there; what is told of further ones is in the audit. */
const MAX_EARLY_EVENTS = 1_000;

export class LateFeed implements Disposable {
  readonly #settings: Pick<Settings, 'record' | 'stateDir'>;
  readonly #observer: Observer;
  #early: { readonly event: BridgeEvent; readonly redact: Redact }[] = [];
  #feed: Feed | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `observer` hears why the page cannot see the bridge. */
  constructor(settings: Pick<Settings, 'record' | 'stateDir'>, observer: Observer) {
    this.#settings = settings;
    this.#observer = observer;
  }

  /** An observer for events of a bridge whose secrets `redact` knows. */
  observerFor(redact: Redact): Observer {
    return (event) => {
      if (!event.type.startsWith('run.')) return;
      if (this.#feed !== undefined) this.#feed.observe(event, redact);
      else if (this.#early.length < MAX_EARLY_EVENTS) this.#early.push({ event, redact });
    };
  }

  /** Opens the socket in a moment. `facts` is asked only while a page is open. */
  open(facts: () => BridgeFacts): void {
    if (process.platform === 'win32' || this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.#open(facts), LOADS_AFTER_MS).unref();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#feed?.[Symbol.dispose]();
  }

  async #open(facts: () => BridgeFacts): Promise<void> {
    try {
      const { Feed } = await loadFeed();
      if (this.#isClosed) return;
      this.#feed = new Feed({ settings: this.#settings, facts, observer: this.#observer });
      for (const { event, redact } of this.#early) this.#feed.observe(event, redact);
    } catch {
      // The program's files were replaced: the next call says so.
    }
    this.#early = [];
  }
}

/** Most of a description, and of what is told of a tool besides. */
const MAX_DESCRIPTION_CHARS = 2_000;
const MAX_BESIDES_CHARS = 500;
const MAX_TOOLS = 2_000;
const since = new Date().toISOString();

/** Facts of the process that serves, whichever bridges it has. */
export const processFacts = (
  version: string,
): Pick<BridgeFacts, 'pid' | 'version' | 'since' | 'memoryBytes'> => ({
  pid: process.pid,
  version,
  since,
  memoryBytes: process.memoryUsage.rss(),
});

/** The servers of a bridge, with the tools that were ever learned of them. Starts nothing. */
export function serverFacts({ servers, redactor }: Bridge): BridgeFacts['servers'] {
  const states = new Map(servers.pool.states().map((state) => [state.name, state]));
  return servers.names.map((name) => {
    const { state = 'idle', reason } = states.get(name) ?? {};
    const tools = (servers.known.docOf(name)?.tools ?? []).slice(0, MAX_TOOLS);
    return {
      name,
      state,
      ...(reason === undefined ? {} : { reason: redactor.redact(reason) }),
      tools: tools.map((tool) => ({
        name: tool.name,
        description: clip(tool.description, MAX_DESCRIPTION_CHARS),
        arguments: clip(argumentsIn(tool.inputSchema), MAX_BESIDES_CHARS),
        ...(tool.changed === null ? {} : { changed: clip(tool.changed, MAX_BESIDES_CHARS) }),
      })),
    };
  });
}

/** Names of a tool's arguments with their types, as far as its schema says: `title: string, body?: string`. */
function argumentsIn(schema: unknown): string {
  if (!isObject(schema) || !isObject(schema['properties'])) return '';
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return Object.entries(schema['properties'])
    .map(([name, described]) => {
      const { type, enum: values } = isObject(described) ? described : {};
      const words = Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : [type].flat();
      const told = words.filter((word) => typeof word === 'string').join(' | ');
      return `${name}${required.includes(name) ? '' : '?'}${told === '' ? '' : `: ${told}`}`;
    })
    .join(', ');
}
