// Runs that take longer than a host waits, in real hosts: how long each waits where the bridge answers at the end only, that
// none gives a call up where the bridge goes by its table (src/hosts/records/all-hosts.ts), and that a run of five minutes comes
// in parts while another is stopped. Findings as in judge.mjs.

import { Session } from './session.mjs';

/** Longer than any host waits that has a limit below half an hour. */
const SLEEP_SECONDS = 700;
/** With a run of five minutes, three times the rest is asked for. */
const PART_SECONDS = 90;
const RUN_SECONDS = 300;
const MAX_WAITS = 16;
const SESSION_MS = 1_200_000;
const HANDLE = /\[running (r-[a-z2-9]{16})\]/;

const sleepArguments = (seconds) => ({
  code: `import time\ntime.sleep(${seconds})\n"awake"`,
  timeout: seconds + 60,
});
const countArguments = (seconds) => ({
  code: `import time\nfor n in range(${seconds}):\n    print("line", n)\n    time.sleep(1)\n"counted"`,
  timeout: seconds + 60,
});

/**
 * A call that goes on with the run that the answer `at` has begun. Where that has ended it is another small call each time: a host
 * takes the same one again and again for a loop.
 */
const goOn = (verb, at) => (results) => {
  const handle = HANDLE.exec(results[at]?.text ?? '')?.[1];
  const last = results.at(-1)?.text ?? '';
  const isOver = verb === 'wait' && !last.includes(`[running ${handle}]`) && results.length > at + 1;
  return {
    name: 'run_python',
    args: isOver || handle === undefined ? { code: `${results.length}` } : { [verb]: handle },
  };
};

/** Findings by the id of the host; the hosts and trials go side by side, since all of them mostly wait. */
export async function judgeLongRuns(hosts, { stage, engine }) {
  const found = hosts.map(async ({ id, host, argv }) => {
    const session = (variables) => {
      const made = new Session(id, host, argv, stage, engine, {});
      made.handedOn = [...made.handedOn, ['MCP_BRIDGE_MAX_TIMEOUT', '3600'], ...Object.entries(variables)];
      return made;
    };
    const trials = [
      waits(session({ MCP_BRIDGE_PATIENCE: '0' })),
      goesByTheTable(session({})),
      inParts(session({ MCP_BRIDGE_PATIENCE: String(PART_SECONDS) })),
    ];
    const findings = await Promise.all(
      trials.map((trial) =>
        trial.catch((thrown) => ({ what: 'long runs', saw: thrown.message, held: false })),
      ),
    );
    return [id, findings];
  });
  return Object.fromEntries(await Promise.all(found));
}

/** Plays `calls`; the answers, and the seconds after which each came. */
async function playCalls(session, calls) {
  const asked = [];
  const before = async () => void asked.push(performance.now());
  const { standIn } = await session.play(calls, { before, withinMs: SESSION_MS });
  const { results } = standIn.turns.at(-1);
  const seconds = results.map((_, at) => Math.round((asked[at + 1] - asked[at]) / 1000));
  return { texts: results.map((result) => result?.text ?? ''), seconds };
}

async function waits(session) {
  const { texts, seconds } = await playCalls(session, [sleepArguments(SLEEP_SECONDS)]);
  const isAwake = texts[0].includes('awake') && seconds[0] >= SLEEP_SECONDS;
  const saw = isAwake
    ? `waited ${seconds[0]} s for the end`
    : `gave up after ${seconds[0]} s: ${brief(texts[0])}`;
  return { what: 'waits', saw };
}

async function goesByTheTable(session) {
  const calls = [sleepArguments(SLEEP_SECONDS), ...Array.from({ length: MAX_WAITS }, () => goOn('wait', 0))];
  const { texts, seconds } = await playCalls(session, calls);
  const end = texts.findIndex((text) => text.includes('awake'));
  const parts = texts.slice(0, Math.max(0, end));
  const held = end >= 0 && parts.every((text) => HANDLE.test(text));
  const saw = `${parts.length === 0 ? 'one answer' : `${parts.length} parts and the rest`}, after ${seconds.slice(0, end + 1).join(', ')} s`;
  return { what: 'never gives up', saw: held ? saw : `${saw}: ${brief(texts.at(end) ?? '')}`, held };
}

async function inParts(session) {
  const calls = [
    countArguments(RUN_SECONDS),
    goOn('wait', 0),
    goOn('wait', 0),
    goOn('wait', 0),
    { code: 'import time\nprint("begun")\ntime.sleep(600)', timeout: 700 },
    goOn('stop', 4),
  ];
  const { texts } = await playCalls(session, calls);
  const lines =
    texts
      .slice(0, 4)
      .join('\n')
      .match(/^line \d+$/gm) ?? [];
  const isWhole = lines.join() === Array.from({ length: RUN_SECONDS }, (_, n) => `line ${n}`).join();
  const isCounted = texts[3].includes('counted');
  const isStopped = HANDLE.test(texts[4]) && /cancelled/.test(texts[5]);
  return {
    what: 'in parts',
    saw: `${lines.length} of ${RUN_SECONDS} lines in ${texts.slice(0, 4).filter((text) => /line \d/.test(text)).length} answers; another ${isStopped ? 'stopped' : 'not stopped'}`,
    held: isWhole && isCounted && isStopped,
  };
}

const brief = (text) => text.replaceAll(/\s+/g, ' ').slice(0, 160);
