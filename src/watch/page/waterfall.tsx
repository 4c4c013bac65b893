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
  const beginMs = Math.min(...spans(calls).map(({ from }) => from), Date.parse(seen.at));
  const endMs = Math.max(...spans(calls).map(({ to }) => to), Date.parse(seen.at) + (seen.durationMs ?? 0));
  const wholeMs = Math.max(1, endMs - beginMs);
  const percent = (ms: number) => (100 * ms) / wholeMs;
  return (
    <>
      <ol class="waterfall" aria-label="Calls of tools">
        {calls.slice(0, MAX_BARS).map((call) => {
          const { from } = spanOf(call);
          const width = Math.max(LEAST_PERCENT, percent(call.durationMs));
          const left = Math.min(100 - width, Math.max(0, percent(from - beginMs)));
          const outcome = !call.isAllowed ? 'denied' : call.error === undefined ? 'answered' : 'failed';
          return (
            <li key={`${call.call} ${call.endedAt}`}>
              <span class="what">
                <ToolName server={call.server} tool={call.tool} />
              </span>
              <span class="lane" aria-hidden="true">
                <span class={`bar ${outcome}`} style={{ left: `${left}%`, width: `${width}%` }} />
              </span>
              <span class="took">{duration(call.durationMs)}</span>
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

const spanOf = ({ endedAt, durationMs }: SeenCall) => ({
  from: Date.parse(endedAt) - durationMs,
  to: Date.parse(endedAt),
});

/** Of the calls that are drawn: more would be too many arguments of a function. */
const spans = (calls: readonly SeenCall[]) => calls.slice(0, MAX_BARS).map(spanOf);
