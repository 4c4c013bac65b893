// All bridges of a state directory that run now, as they tell of themselves. Looks for new ones again and again; one that ends is
// gone with all that only it knew.

import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { lineOf, readLines } from '../told/lines.js';
import { socketsIn } from '../told/place.js';
import {
  type BridgeFacts,
  type PageRequest,
  type Recorded,
  type Repeatable,
  RUNNING,
  type SeenCall,
  type SeenRun,
  told,
} from '../told/told.js';
import { ChangeCounts } from './change-counts.js';

const LOOK_EVERY_MS = 500;
/** A bridge that does not answer holds no page up. */
const ANSWERS_WITHIN_MS = 5_000;

export type RunOfBridge = {
  readonly seen: SeenRun;
  /** Ended ones, in the order in which they ended. */
  readonly calls: readonly SeenCall[];
  /** Ones that have begun and not ended, by what counts them in their run. */
  readonly underWay?: ReadonlyMap<number, SeenCall>;
};

type BridgeConnection = {
  readonly socket: Socket;
  facts: BridgeFacts | undefined;
  readonly runs: Map<
    string,
    { seen: SeenRun; readonly calls: SeenCall[]; readonly underWay: Map<number, SeenCall> }
  >;
  readonly asked: Map<string, ((recorded: Recorded | null) => void)[]>;
  readonly askedAgain: Map<string, ((repeatable: Repeatable | null) => void)[]>;
};

export class SeenBridges implements Disposable {
  readonly #stateDir: string;
  readonly #connections = new Map<string, BridgeConnection>();
  readonly #timer: NodeJS.Timeout;
  readonly #versions = new ChangeCounts();
  readonly #factsVersions = new ChangeCounts();

  constructor(stateDir: string, lookEveryMs = LOOK_EVERY_MS) {
    this.#stateDir = stateDir;
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
    this.#timer.unref();
    this.#look();
  }

  /** Grows with each change of runs and calls; with a principal, with each change of theirs. */
  versionOf(principal?: string): number {
    return this.#versions.of(principal);
  }

  /** Grows with each change of the facts of bridges; a principal has servers there. */
  factsVersionOf(principal?: string): number {
    return this.#factsVersions.of(principal);
  }

  /** Bridges that have told of themselves, the oldest first. */
  get facts(): readonly BridgeFacts[] {
    return [...this.#connections.values()]
      .flatMap(({ facts }) => facts ?? [])
      .sort((one, other) => one.since.localeCompare(other.since) || one.pid - other.pid);
  }

  /** Runs that bridges remember: those under way, and the last ones that ended. */
  *runs(): Generator<RunOfBridge> {
    for (const { runs } of this.#connections.values()) yield* runs.values();
  }

  /** A run and its calls; undefined where no bridge remembers it. */
  run(id: string): RunOfBridge | undefined {
    for (const { runs } of this.#connections.values()) {
      const found = runs.get(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Code and output of a run; null where no bridge remembers them. */
  async recorded(id: string): Promise<Recorded | null> {
    const connection = [...this.#connections.values()].find(({ runs }) => runs.get(id)?.seen.isRecorded);
    if (connection === undefined) return null;
    return await answerOf(connection, connection.asked, { ask: 'recorded', run: id });
  }

  /** Record that a run is run again by; null where no bridge remembers it. */
  async repeatable(id: string): Promise<Repeatable | null> {
    const connection = [...this.#connections.values()].find(({ runs }) => runs.has(id));
    if (connection === undefined) return null;
    return await answerOf(connection, connection.askedAgain, { ask: 'repeatable', run: id });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const { socket } of this.#connections.values()) socket.destroy();
  }

  #look(): void {
    for (const path of socketsIn(this.#stateDir)) if (!this.#connections.has(path)) this.#connect(path);
  }

  #connect(path: string): void {
    const socket = connect(path);
    const connection: BridgeConnection = {
      socket,
      facts: undefined,
      runs: new Map(),
      asked: new Map(),
      askedAgain: new Map(),
    };
    this.#connections.set(path, connection);
    socket.on('error', (thrown) => {
      // Nobody listens: the bridge was killed, and its name is drawn anew each time.
      if (Object(thrown).code === 'ECONNREFUSED') rmSync(path, { force: true });
    });
    socket.once('close', () => {
      this.#connections.delete(path);
      for (const answered of [...connection.asked.values(), ...connection.askedAgain.values()].flat())
        answered(null);
      this.#takeFacts(connection, undefined);
      this.#versions.grow();
      for (const { seen } of connection.runs.values()) this.#versions.grow(seen.principal);
    });
    readLines(socket, (value) => this.#take(connection, value));
  }

  #take(connection: BridgeConnection, value: unknown): void {
    const { runs, asked } = connection;
    const { data } = told.safeParse(value);
    // A bridge of another version may say more than this one knows.
    if (data === undefined) return;
    if (data.is === 'facts') this.#takeFacts(connection, data.facts);
    else if (data.is === 'figures') {
      if (connection.facts !== undefined) connection.facts = { ...connection.facts, ...data.figures };
      this.#factsVersions.grow();
    } else if (data.is === 'run') {
      const known = runs.get(data.run.run);
      if (known === undefined) runs.set(data.run.run, { seen: data.run, calls: [], underWay: new Map() });
      else known.seen = data.run;
      if (data.run.status !== RUNNING) known?.underWay.clear();
      forget(runs);
      this.#versions.grow(data.run.principal);
    } else if (data.is === 'call') {
      const known = runs.get(data.run);
      if (known === undefined) return;
      this.#versions.grow(known.seen.principal);
      if (data.call.isUnderWay === true) {
        known.underWay.set(data.call.call, data.call);
        return;
      }
      known.underWay.delete(data.call.call);
      known.calls.push(data.call);
      const { callCount, failedCalls, status } = known.seen;
      const counted = {
        callCount: Math.max(callCount, known.calls.length),
        failedCalls: failedCalls + (data.call.error === undefined ? 0 : 1),
      };
      if (status === RUNNING) known.seen = { ...known.seen, ...counted };
    } else if (data.is === 'recorded') settle(asked, data.run, data.recorded);
    else settle(connection.askedAgain, data.run, data.repeatable);
  }

  /** Takes what a bridge tells of itself, or that it is gone. */
  #takeFacts(connection: BridgeConnection, facts: BridgeFacts | undefined): void {
    const [before, now] = [serversByOwner(connection.facts), serversByOwner(facts)];
    connection.facts = facts;
    this.#factsVersions.grow();
    for (const principal of new Set([...before.keys(), ...now.keys()]))
      if (before.get(principal) !== now.get(principal)) this.#factsVersions.grow(principal);
  }
}

/** The servers of each principal in a form that can be compared. */
const serversByOwner = (facts: BridgeFacts | undefined): ReadonlyMap<string, string> =>
  new Map((facts?.principals ?? []).map(({ principal, servers }) => [principal, JSON.stringify(servers)]));

type Waiting<T> = Map<string, ((answer: T | null) => void)[]>;

/** Answer of a bridge; null where it has none in time. */
function answerOf<T>(
  { socket }: BridgeConnection,
  waiting: Waiting<T>,
  request: PageRequest,
): Promise<T | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ANSWERS_WITHIN_MS, null);
    const answered = (answer: T | null) => {
      clearTimeout(timer);
      resolve(answer);
    };
    waiting.set(request.run, [...(waiting.get(request.run) ?? []), answered]);
    socket.write(lineOf(request));
  });
}

function settle<T>(waiting: Waiting<T>, run: string, answer: T | null): void {
  const answered = waiting.get(run) ?? [];
  waiting.delete(run);
  for (const tell of answered) tell(answer);
}

/** More than a bridge remembers of its own. */
const MAX_RUNS = 1_000;

function forget(runs: Map<string, { readonly seen: SeenRun }>): void {
  if (runs.size <= MAX_RUNS) return;
  for (const [id, { seen }] of runs)
    if (seen.status !== RUNNING) {
      runs.delete(id);
      return;
    }
}
