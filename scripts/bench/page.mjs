// The page of `ui` in a Chromium of this machine, over an audit of many runs: how long after its link is opened the first view has
// its data, in a browser that has nothing of it yet, and how long the longest task of the page takes while the list of runs scrolls.

import { browserHere, startBrowser } from '../page/browser.mjs';
import { figure } from './statistics.mjs';

const FIRST_VIEW_MAX_MS = 300;
const TASK_MAX_MS = 50;
const RUNS = 10_000;
const STEPS = 200;
/** Tasks of threads as Chromium's own tools draw them. */
const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline'];
const US_IN_MS = 1_000;

/** @typedef {{ name: string, ph: string, pid: number, tid: number, dur?: number, tdur?: number, args?: { name?: string } }} TraceEvent */

/** @param {import('./stage.mjs').Stage} stage */
export async function page(stage) {
  const executable = browserHere();
  if (executable === undefined)
    return [
      { measure: "ui's page", skipped: 'there is no Chromium; npm run test:page -- --install installs it' },
    ];
  const browser = await startBrowser(executable, []);
  try {
    const rounds = [];
    for (let round = 0; round < stage.times(10, 3); round++) rounds.push(await measureOnce(browser));
    const view = figure(
      'page',
      rounds.map(({ viewMs }) => viewMs),
    );
    const task = figure(
      'page',
      rounds.map(({ taskMs }) => taskMs),
    );
    const computed = figure(
      'page',
      rounds.map(({ taskCpuMs }) => taskCpuMs),
    );
    return [
      {
        measure: "first view of ui's page, from its link",
        unit: 'ms',
        ours: view,
        target: `<= ${FIRST_VIEW_MAX_MS} ms`,
        met: view.p50 <= FIRST_VIEW_MAX_MS,
        note: `Chromium ${browser.version()}, ${RUNS} runs in the audit`,
      },
      {
        measure: `longest task while ${RUNS} runs scroll`,
        unit: 'ms',
        ours: task,
        target: `<= ${TASK_MAX_MS} ms`,
        met: task.p50 <= TASK_MAX_MS,
        note: `the longest of all: ${Math.round(Math.max(...task.samples))} ms`,
      },
      {
        measure: 'processor time of the longest such task',
        unit: 'ms',
        ours: computed,
        note: 'what it takes on a machine that does nothing else',
      },
    ];
  } finally {
    await browser.close();
  }
}

/** Each round has a page, a link and a browser profile of its own: a link opens once. */
async function measureOnce(/** @type {import('playwright-core').Browser} */ browser) {
  // They are made of the built bridge.
  const { furnish, watchStage } = await import('../page/watch-stage.mjs');
  const { runLine, shows, VIEWS } = await import('../page/watch-checks.mjs');
  const staged = await watchStage(browser);
  try {
    await furnish(staged);
    staged.audit(Array.from({ length: RUNS }, (_, at) => runLine(at)));
    const tab = await staged.context.newPage();
    const startedAt = performance.now();
    await tab.goto(staged.link, { waitUntil: 'commit' });
    await shows(tab, VIEWS.now);
    const viewMs = performance.now() - startedAt;
    await tab.evaluate(() => {
      location.hash = '#/runs';
    });
    await tab.waitForSelector('.window .row');
    await browser.startTracing(tab, { categories: CATEGORIES });
    await tab.evaluate(async (steps) => {
      const list = document.querySelector('.window');
      for (let at = 1; at <= steps; at++) {
        if (list) list.scrollTop = list.scrollHeight * (at / steps);
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
    }, STEPS);
    const { traceEvents } = JSON.parse((await browser.stopTracing()).toString('utf8'));
    await tab.waitForSelector('a[href="#/runs/many-0"]');
    return { viewMs, ...longestTasks(traceEvents) };
  } finally {
    await staged.close();
  }
}

/** By the clock and by processor time, in ms, of the main threads of pages; throws where the trace has none. */
function longestTasks(/** @type {readonly TraceEvent[]} */ events) {
  const keyOf = (/** @type {TraceEvent} */ { pid, tid }) => `${pid} ${tid}`;
  const mains = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map((event) => keyOf(event)),
  );
  const tasks = events.filter((event) => event.name === 'RunTask' && mains.has(keyOf(event)));
  if (tasks.length === 0) throw new Error('the trace of the browser has no task of a page');
  return {
    taskMs: Math.max(...tasks.map(({ dur = 0 }) => dur)) / US_IN_MS,
    taskCpuMs: Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / US_IN_MS,
  };
}
