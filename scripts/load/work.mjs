// What clients do: single calls and runs, each with a secret of its own that its answer has to have, in several manners, and
// again where the bridge says when to come back.

import { pause } from './bridge.mjs';
import { newSecret } from './ledger.mjs';

/** Tool calls of one run. */
export const CALLS_OF_A_RUN = 5;
const RUN = (secret, calls) => `
texts = []
for at in range(${calls}):
    texts.append(str(await mcp_desk.execute(command="say", args=["${secret}", str(at)])))
assert all("${secret}" in text for text in texts), texts
print("${secret}", len(texts))
`;
/** Longer than all kills take, since a run of many that wait has its turn only between two of them. */
const GIVE_UP_MS = 600_000;
const MOST_WAIT_MS = 5_000;

// `manner` is that of LoadClient.call; with `isFlood`, what is done is counted as the flood's.

/** The calls of one bridge, without runs where it has no containers. */
export class Work {
  #ledger;
  #withContainers;

  constructor({ ledger, withContainers }) {
    this.#ledger = ledger;
    this.#withContainers = withContainers;
  }

  /** A run with its tool calls; without containers, so many calls as it would make. How long it took, in ms. */
  async run(client, about, manner = {}) {
    const beganAt = performance.now();
    if (this.#withContainers) {
      const secret = newSecret();
      const args = { code: RUN(secret, CALLS_OF_A_RUN), servers: ['desk'] };
      await this.#sendUntil(
        () => client.call('run_python', args, manner),
        { secret, count: 1, about: `${about} run` },
        client,
      );
      this.#ledger.count({ toolCalls: CALLS_OF_A_RUN }, manner);
    } else for (let at = 0; at < CALLS_OF_A_RUN; at++) await this.call(client, about, manner);
    this.#ledger.count({ runs: 1 }, manner);
    return performance.now() - beganAt;
  }

  /** A tool of a server, called without code. How long it took, in ms. */
  async call(client, about, manner = {}) {
    const beganAt = performance.now();
    const secret = newSecret();
    const args = { command: 'say', args: [secret] };
    await this.#sendUntil(
      () => client.call('execute', args, manner),
      { secret, count: 1, about: `${about} call` },
      client,
    );
    this.#ledger.count({ toolCalls: 1 }, manner);
    return performance.now() - beganAt;
  }

  /** A call whose answer is large. */
  async callLarge(client, about, manner = {}) {
    const secret = newSecret();
    const args = { command: 'large', args: ['400000', secret] };
    await this.#sendUntil(
      () => client.call('execute', args, manner),
      { secret, count: 1, about: `${about} large` },
      client,
    );
    this.#ledger.count({ toolCalls: 1 }, manner);
  }

  /** Sends until it is answered or its client has left; a lost answer is counted where the bridge was not killed. */
  async #sendUntil(send, judged, client) {
    const end = performance.now() + GIVE_UP_MS;
    while (performance.now() < end) {
      const answer = await send();
      const became = this.#ledger.judge(answer, judged);
      if (became === 'answered' || became === 'left') return;
      if (became === 'lost') {
        if (!this.mayLose) return void this.#ledger.lost.push(`${judged.about}: ${answer.lost}`);
        client.forgetSession();
        this.retries++;
      }
      await pause(Math.min(MOST_WAIT_MS, (answer.retryAfter || 0.2) * 1000) * (0.5 + Math.random()));
    }
    this.#ledger.lost.push(`${judged.about}: not answered within ${GIVE_UP_MS / 1000} s`);
  }

  /** Whether the bridge is killed meanwhile, so that clients have to send again what was not answered. */
  mayLose = false;
  retries = 0;
}

/** Each does `work` again and again, as soon as it is done, until `isOver`. */
export async function workRepeatedly(clients, isOver, work) {
  await Promise.all(
    clients.map(async (client) => {
      while (!isOver()) await work(client);
    }),
  );
}
