// What runs now, and the first thing that a person sees where nothing does.

import { useEffect, useState } from 'preact/hooks';
import type { ShownNow } from '../front/shown.js';
import { countOf, duration, Empty, linkToRun, RecordedTexts, Text } from './parts.js';
import { Waterfall } from './waterfall.js';

const TICKS_MS = 1_000;

export function NowView({ now }: { readonly now: ShownNow | undefined }) {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), TICKS_MS);
    return () => clearInterval(timer);
  }, []);
  if (now === undefined) return <Empty says="Loading." />;
  const { bridges, running, questions } = now;
  return (
    <>
      <p class="summary">
        {bridges === 0 ? 'No bridge runs' : `${countOf(bridges, 'bridge')} run${bridges === 1 ? 's' : ''}`},
        with {countOf(running.length, 'run')} under way.{' '}
        {questions > 0 && <a href="#/questions">{countOf(questions, 'question')} waiting for you</a>}
      </p>
      {running.length === 0 && (
        <Empty
          says={
            bridges === 0
              ? 'A bridge is seen here from its first call, or a moment after its host has listed its tools.'
              : 'Nothing runs at the moment.'
          }
        />
      )}
      {running.map(({ seen, calls, recorded }) => (
        <article key={seen.run} aria-label={`Run ${seen.run}`}>
          <h2>
            <a href={linkToRun(seen)}>
              <Text of={seen.run} />
            </a>
          </h2>
          <p>
            <Text of={seen.language} /> for <Text of={seen.client} />, since{' '}
            {duration(Math.max(0, nowMs - Date.parse(seen.at)))}, {countOf(seen.callCount, 'call')} ended
          </p>
          <Waterfall seen={{ ...seen, durationMs: Math.max(0, nowMs - Date.parse(seen.at)) }} calls={calls} />
          <details>
            <summary>Code</summary>
            <RecordedTexts of={recorded} isOver={false} />
          </details>
        </article>
      ))}
    </>
  );
}
