// What an agent is told while a run of any tool is under way: its place in the queue, what it waits for, what it does.

import type { Meter } from '../../run/life/run-request.js';
import type { RunHooks } from '../../tenant/run-hooks.js';
import type { ToolContext } from './tool.js';

export function hooksFor({
  progress,
  onOutput,
}: Pick<ToolContext, 'progress'> & Pick<RunHooks, 'onOutput'>): RunHooks {
  return {
    onQueued: (place) => {
      progress.describe(() =>
        place.ahead === 0 ? 'Queued: next in line.' : `Queued: ${counted(place.ahead, 'run')} ahead.`,
      );
      progress.beat();
    },
    onPreparing: (waitsFor) => progress.describe(waitsFor),
    onStart: (meter) => {
      const startedAt = performance.now();
      progress.describe(() => running(meter, performance.now() - startedAt));
    },
    onProgress: (report) => progress.report(report),
    onToolProgress: (report) => progress.reportTool(report),
    onOutput,
  };
}

function running({ calls, inFlight, waitingFor, asking }: Meter, elapsedMs: number): string {
  if (asking !== '') return asking;
  const waits = inFlight === 0 ? '' : `, ${inFlight} in flight: ${waitingFor}`;
  return `Running for ${Math.round(elapsedMs / 1000)} s; ${counted(calls, 'tool call')}${waits}.`;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
