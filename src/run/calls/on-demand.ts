// Servers that code asks for while it runs. Whether it gets them is decided here: by a setting, or by the user, who is
// asked in plain words through the agent. A question costs none of the run's own time, since a person answers it.

import { BridgeError, messageOf } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless } from '../../base/text/text.js';
import { Deadline, type StopClock } from '../../base/waiting/deadline.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import { AskingTime } from '../../policy/approvals/standing-clock.js';
import { allowedPart, type Policy } from '../../policy/rules/policy.js';
import { MAX_ASKING_SECONDS } from '../../sandbox/spec/spec.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { SettingValues } from '../../settings/environment/variables.js';
import type { ServerBrief, ServerDoc } from '../../wire/frames.js';

// Which servers a run can reach, and what is said of one that it cannot.

/**
 * How to get a server that exists but was not asked for; the guest's own messages say the same. `onDemand`: code may ask
 * for it itself.
 */
export function howToLoad(server: string, onDemand = false): string {
  const name = JSON.stringify(server);
  return `Pass servers=[${name}] in the call to load it${onDemand ? `, or await runtime.load_server(${name})` : ''}.`;
}

/** The refusal of a server that this run has not loaded. */
export function notLoaded(server: string, discovered: readonly ServerBrief[]): BridgeError {
  const brief = discovered.find(({ name }) => name === server);
  if (brief?.problem !== undefined) {
    return new BridgeError(
      'E_SERVER_UNAVAILABLE',
      `Server '${shownName(server)}' is not available: ${brief.problem}`,
      {
        fault: 'operator',
      },
    );
  }
  const names = discovered.map(({ name }) => name);
  const advice = brief === undefined ? didYouMean(server, names) : ` ${howToLoad(server, brief.onDemand)}`;
  return new BridgeError('E_SERVER_NOT_LOADED', `Server '${shownName(server)}' is not available.${advice}`, {
    fault: 'guest',
  });
}

/** Code could ask for every server that there is; nobody reads more than this. */
const MAX_QUESTIONS = 8;

export type AskingWords = {
  /** The question to the person. `server` is harmless. */
  readonly question: (server: string) => string;
  /** `why` is a part of a sentence. */
  readonly refused: (server: string, why: string) => BridgeError;
};

/** Whether code may ask for servers here at all. */
export const canLoad = (mode: SettingValues['autoload'], agent: AgentCapabilities): boolean =>
  mode === 'always' || (mode === 'ask' && agent.elicits().form);

/** The servers that one run gets while it runs. Disposed, it asks nobody any more. */
export class OnDemand implements Disposable {
  readonly #parts;
  /** Answers of the user as the client reports them, each asked for once. */
  readonly #answers = new Map<string, Promise<unknown>>();
  readonly #ending = new AbortController();
  /** Nobody can answer two questions at once. */
  #lastQuestion: Promise<unknown> = Promise.resolve();
  readonly #time: AskingTime;

  constructor(parts: {
    readonly mode: SettingValues['autoload'];
    readonly agent: AgentCapabilities;
    readonly discovered: readonly ServerBrief[];
    /** Opens and describes one. */
    readonly open: (server: string, signal: AbortSignal) => Promise<ServerDoc>;
    /** The run's clock stands still from now until what is given back is called. */
    readonly stopClock: StopClock;
    /** Time for all questions together. */
    readonly maxAskingMs?: number;
    /** How it is asked and refused; without it, as for code that asks for itself. */
    readonly words?: AskingWords;
  }) {
    this.#parts = parts;
    this.#time = new AskingTime(parts.stopClock, parts.maxAskingMs ?? MAX_ASKING_SECONDS * 1000);
  }

  /** Opens the server of this real name. Throws E_SERVER_UNKNOWN, E_DENIED, or what the opening throws. */
  async load(server: string, signal: AbortSignal): Promise<ServerDoc> {
    const { discovered, open } = this.#parts;
    const names = discovered.map(({ name }) => name);
    if (!names.includes(server)) {
      throw new BridgeError(
        'E_SERVER_UNKNOWN',
        `There is no server '${shownName(server)}'.${didYouMean(server, names)}`,
        { fault: 'guest', remedy: 'runtime.discovered_servers() lists them.' },
      );
    }
    await this.#decide(server, signal);
    return await open(server, signal);
  }

  [Symbol.dispose](): void {
    this.#ending.abort('cancelled');
    this.#time[Symbol.dispose]();
  }

  get #words(): AskingWords {
    return this.#parts.words ?? OF_CODE;
  }

  async #decide(server: string, signal: AbortSignal): Promise<void> {
    const { mode, agent } = this.#parts;
    if (mode === 'always') return;
    if (mode === 'never') throw this.#words.refused(server, 'MCP_BRIDGE_AUTOLOAD is never');
    if (!agent.elicits().form)
      throw this.#words.refused(server, 'the user has to be asked first, and this client cannot ask');
    let answer = this.#answers.get(server);
    if (answer === undefined) {
      if (this.#answers.size >= MAX_QUESTIONS)
        throw this.#words.refused(server, `the user was asked ${MAX_QUESTIONS} times in this run already`);
      answer = this.#lastQuestion.then(() => this.#ask(server));
      this.#answers.set(server, answer);
      this.#lastQuestion = answer.catch(() => {});
    }
    const action = await unlessAborted(answer, signal);
    if (action !== 'accept')
      throw this.#words.refused(
        server,
        action === 'cancel' ? 'the user closed the question without an answer' : 'the user said no',
      );
  }

  async #ask(server: string): Promise<unknown> {
    const { agent } = this.#parts;
    const { leftMs } = this.#time;
    if (leftMs <= 0) throw this.#words.refused(server, 'the time for asking the user is used up');
    using deadline = new Deadline(this.#ending.signal);
    const goOn = this.#time.ask();
    deadline.start(leftMs);
    try {
      const question = agent.elicit(
        {
          message: this.#words.question(server),
          requestedSchema: { type: 'object', properties: {} },
        },
        deadline.signal,
      );
      const { action } = await unlessAborted(question, deadline.signal);
      return action;
    } catch (thrown) {
      const why =
        deadline.cause === 'timeout' ? 'the user did not answer in time' : clipText(messageOf(thrown));
      throw this.#words.refused(server, why);
    } finally {
      goOn();
    }
  }
}

const clipText = (text: string): string => clipHarmless(text, 200);

const OF_CODE: AskingWords = {
  question: (server) =>
    `Code in the sandbox wants to use the MCP server '${shownName(server)}'. If you accept, it can call the tools of that server until this run ends. Load it?`,
  refused: (server, why) =>
    new BridgeError('E_DENIED', `Server '${shownName(server)}' is not loaded from inside the run: ${why}.`, {
      fault: 'operator',
      remedy: howToLoad(server),
    }),
};

// The servers of one run: those that it began with, and those that its code has got since. Each is known whole, for those
// who judge, and as policy shows it at the moment when it was loaded, for the code.

export class LoadedServers {
  readonly #policy: () => Policy;
  readonly #whole = new Map<string, ServerDoc>();
  readonly #shown = new Map<string, ServerDoc>();

  constructor(docs: readonly ServerDoc[], policy: () => Policy) {
    this.#policy = policy;
    for (const doc of docs) this.add(doc);
  }

  /** Takes one more, and returns what the code may see of it. */
  add(doc: ServerDoc): ServerDoc {
    const shown = allowedPart(doc, this.#policy());
    this.#whole.set(doc.name, doc);
    this.#shown.set(doc.name, shown);
    return shown;
  }

  /** With what policy hides; undefined for a server that the run has not. */
  wholeDoc(name: string): ServerDoc | undefined {
    return this.#whole.get(name);
  }

  /** The part of a server that the code may see; undefined for a server that the run has not. */
  visibleDoc(name: string): ServerDoc | undefined {
    return this.#shown.get(name);
  }

  get allShown(): readonly ServerDoc[] {
    return [...this.#shown.values()];
  }

  get names(): readonly string[] {
    return [...this.#whole.keys()];
  }
}
