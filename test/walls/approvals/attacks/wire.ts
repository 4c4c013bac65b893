// What an agent of 2026-07-28 can send to the built bridge in place of the answer of its user, and how else the same server can
// be reached.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { later } from '../../../support/approvals.js';
import { type Message, RawAgent } from '../../../support/raw-agent.js';
import { bridgeEnv, tempHome } from '../../../support/start-bridge.js';
import { type Attack, through } from '../attack.js';

const group = 'the wire';
const SERVER = fileURLToPath(new URL('../../../fixtures/approved-server.mjs', import.meta.url));
const THINK_MS = 600;

type Asking = { readonly requestState: string; readonly inputRequests: Readonly<Record<string, unknown>> };

/** A bridge whose `execute` goes to a server that is asked about. */
class Wire implements AsyncDisposable {
  readonly #log: string;
  readonly agent: RawAgent;

  constructor(env: Readonly<Record<string, string>> = {}) {
    const home = tempHome();
    this.#log = join(home, 'calls.log');
    const config = join(home, 'servers.json');
    const mcpServers = { desk: { command: process.execPath, args: [SERVER, this.#log] } };
    writeFileSync(config, JSON.stringify({ mcpServers }), { mode: 0o600 });
    this.agent = new RawAgent(
      bridgeEnv(home, {
        MCP_SERVERS_CONFIG: config,
        MCP_BRIDGE_STATE_DIR: join(home, 'state'),
        MCP_BRIDGE_TOOLS: 'execute',
        MCP_BRIDGE_EXECUTE_SERVER: 'desk',
        MCP_BRIDGE_APPROVE: 'all',
        ...env,
      }),
      home,
    );
  }

  send(command: string, more: object = {}): Promise<Message> {
    const params = { name: 'execute', arguments: { command }, ...more };
    return this.agent.request('tools/call', params, { capabilities: { elicitation: {} } }).answer;
  }

  async asks(command: string): Promise<Asking> {
    const { result } = await this.send(command);
    if (result?.['resultType'] !== 'input_required') throw new Error(`not asked: ${JSON.stringify(result)}`);
    await later(THINK_MS, undefined);
    return result as unknown as Asking;
  }

  sent(fits: RegExp = /./): string | undefined {
    const text = existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : '';
    return through(text.split('\n').filter((line) => fits.test(line)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.agent[Symbol.asyncDispose]();
  }
}

const responses = ({ inputRequests }: Asking, decision = 'once') =>
  Object.fromEntries(
    Object.keys(inputRequests).map((key) => [key, { action: 'accept', content: { decision } }]),
  );

const on =
  (work: (wire: Wire) => Promise<string | undefined>, env?: Readonly<Record<string, string>>) => async () => {
    await using wire = new Wire(env);
    return await work(wire);
  };

/** A call that is asked about, and allowed as it should be. */
const ALLOWED = on(async (wire) => {
  const asking = await wire.asks('one');
  await wire.send('one', { requestState: asking.requestState, inputResponses: responses(asking) });
  return wire.sent();
});

/** A call by a client that declares nothing: what was sent to the server. */
async function sentUnasked(wire: Wire): Promise<string | undefined> {
  await wire.agent.request('tools/call', { name: 'execute', arguments: { command: 'one' } }).answer;
  return wire.sent();
}

export const wireAttacks: readonly Attack[] = [
  {
    id: 'answers-without-a-state',
    group,
    tries: 'sends the answer with a new call, without having been asked',
    wall: 'answers belong to the call that their state names',
    attempt: on(async (wire) => {
      const inputResponses = { q1: { action: 'accept', content: { decision: 'once' } } };
      await wire.send('one', { inputResponses });
      return wire.sent();
    }),
    control: ALLOWED,
  },
  {
    id: 'forged-state',
    group,
    tries: 'makes up a state',
    wall: 'a state is signed by the process that made it',
    attempt: on(async (wire) => {
      const asking = await wire.asks('one');
      const [version = '', payload = ''] = asking.requestState.split('.');
      for (const requestState of ['x', `${version}.${payload}.`, `${version}.${payload}.${'A'.repeat(43)}`])
        await wire.send('one', { requestState, inputResponses: responses(asking) });
      return wire.sent();
    }),
    control: ALLOWED,
  },
  {
    id: 'arguments-swapped',
    group,
    tries: 'brings the state of one call back with the arguments of another',
    wall: 'a state is bound to tool and arguments, and what is sent is the text that was shown',
    attempt: on(async (wire) => {
      const asking = await wire.asks('one');
      await wire.send('two', { requestState: asking.requestState, inputResponses: responses(asking) });
      return wire.sent();
    }),
    control: ALLOWED,
  },
  {
    id: 'replayed-state',
    group,
    tries: 'brings a state back twice, to have the call sent twice',
    wall: 'a state is used once',
    attempt: on(async (wire) => {
      const asking = await wire.asks('one');
      const retry = { requestState: asking.requestState, inputResponses: responses(asking) };
      await wire.send('one', retry);
      await wire.send('one', retry);
      return wire.sent()?.split('; ').length === 1 ? undefined : wire.sent();
    }),
    control: on(async (wire) => {
      for (let n = 0; n < 2; n++) {
        const asking = await wire.asks('one');
        await wire.send('one', { requestState: asking.requestState, inputResponses: responses(asking) });
      }
      return wire.sent()?.split('; ').length === 1 ? undefined : wire.sent();
    }),
  },
  {
    id: 'answer-of-another-call',
    group,
    tries: 'answers one call with the state of another that is open as well',
    wall: 'a state is bound to tool and arguments',
    attempt: on(async (wire) => {
      const [one, two] = [await wire.asks('one'), await wire.asks('two')];
      await wire.send('two', { requestState: one.requestState, inputResponses: responses(two) });
      return wire.sent();
    }),
    control: on(async (wire) => {
      const [, two] = [await wire.asks('one'), await wire.asks('two')];
      await wire.send('two', { requestState: two.requestState, inputResponses: responses(two) });
      return wire.sent();
    }),
  },
  {
    id: 'killed-while-it-waits',
    group,
    tries: 'has a call sent by a bridge that is killed before anybody answers',
    wall: 'nothing is sent before the answer',
    attempt: on(async (wire) => {
      await wire.asks('one');
      wire.agent.kill();
      await later(500, undefined);
      return wire.sent();
    }),
    control: ALLOWED,
  },
  {
    id: 'client-that-cannot-ask',
    group,
    tries: 'declares that its client cannot ask, so that nobody is asked',
    wall: 'the question waits where the client has no say, and nothing is sent where nobody answers it',
    attempt: on(sentUnasked, { MCP_BRIDGE_APPROVE_WAIT: '2' }),
    control: on(sentUnasked, { MCP_BRIDGE_APPROVE: 'off' }),
  },
];
