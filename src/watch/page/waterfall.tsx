// The tool calls of a run over time: a bar for each, from its start to its end, with what came of it in words.

import type { SeenCall, SeenRun } from '../told/told.js';
import { bytes, duration, Text, ToolName } from './parts.js';

/** Bars that are drawn; each is some elements. */
const MAX_BARS = 500;
/** A bar of a millisecond has to be seen. */
const LEAST_PERCENT = 0.6;

export function Waterfall({ seen, calls }: { readonly seen: SeenRun; readonly calls: readonly SeenCall[] }) {
  if (calls.length === 0)
    return <p class="note">No calls of tools{seen.durationMs === undefined ? ' yet' : ''}.</p>;
  // Calls under way come first, so that they are drawn however many have ended.
  const drawn = [...calls].sort(byWay).slice(0, MAX_BARS);
  const spans = drawn.map(spanOf);
  const beginMs = Math.min(...spans.map(({ from }) => from), Date.parse(seen.at));
  const endMs = Math.max(...spans.map(({ to }) => to), Date.parse(seen.at) + (seen.durationMs ?? 0));
  const wholeMs = Math.max(1, endMs - beginMs);
  const percent = (ms: number) => (100 * ms) / wholeMs;
  return (
    <>
      <ol class="waterfall" aria-label="Calls of tools">
        {drawn.map((call) => {
          const { from, to } = spanOf(call);
          const width = Math.max(LEAST_PERCENT, percent(to - from));
          const left = Math.min(100 - width, Math.max(0, percent(from - beginMs)));
          const outcome = outcomeOf(call);
          return (
            <li key={`${call.call} ${call.endedAt}`}>
              <span class="what">
                <ToolName server={call.server} tool={call.tool} />
              </span>
              <span class="lane" aria-hidden="true">
                <span
                  class={`bar ${outcome.split(' ')[0]}`}
                  style={{ left: `${left}%`, width: `${width}%` }}
                />
              </span>
              <span class="took">{duration(to - from)}</span>
              <span class="more">
                {outcome}
                {call.error !== undefined && (
                  <>
                    {' '}
                    with <Text of={call.error} />
                  </>
                )}
                , {bytes(call.argumentBytes)} sent
                {call.resultBytes !== undefined && `, ${bytes(call.resultBytes)} received`}; rule:{' '}
                <Text of={call.rule} />
                {call.argumentsText !== undefined && (
                  <>
                    : <code>{<Text of={call.argumentsText} />}</code>
                  </>
                )}
              </span>
            </li>
          );
        })}
      </ol>
      {calls.length > MAX_BARS && (
        <p class="note">
          {calls.length - MAX_BARS} further calls are not drawn; mcp-sandbox-bridge runs --calls lists them.
        </p>
      )}
    </>
  );
}

const outcomeOf = ({ isAllowed, isUnderWay, error }: SeenCall): string => {
  if (!isAllowed) return 'denied';
  if (isUnderWay === true) return 'under way';
  return error === undefined ? 'answered' : 'failed';
};

const byWay = (one: SeenCall, other: SeenCall): number =>
  Number(other.isUnderWay === true) - Number(one.isUnderWay === true);

const spanOf = ({ endedAt, durationMs, isUnderWay }: SeenCall) => ({
  from: Date.parse(endedAt) - durationMs,
  to: isUnderWay === true ? Math.max(Date.now(), Date.parse(endedAt)) : Date.parse(endedAt),
});
