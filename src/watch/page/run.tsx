// One run: what it was, what it called, who was asked, and its code and output as far as its bridge remembers them.

import type { ComponentChildren } from 'preact';
import type { ShownRun } from '../front/shown.js';
import { useData } from './data.js';
import { RunFiles } from './files.js';
import { bytes, countOf, duration, Empty, Moment, RecordedTexts, Status, Text, ToolName } from './parts.js';
import { Waterfall } from './waterfall.js';

export function RunView({ id }: { readonly id: string }) {
  const { data, isMissing } = useData<ShownRun>(`run?run=${encodeURIComponent(id)}`, ['now', 'runs']);
  if (isMissing) return <Empty says="Nothing is known of this run: neither the audit nor a bridge has it." />;
  if (data === undefined) return <Empty says="Loading." />;
  const { seen, calls, questions, recorded } = data;
  const moved = calls.reduce((sum, call) => sum + call.argumentBytes + (call.resultBytes ?? 0), 0);
  const isOver = seen.durationMs !== undefined;
  return (
    <article aria-label={`Run ${seen.run}`}>
      <h2>
        <Text of={seen.run} />
      </h2>
      <dl>
        <Fact name="Status">
          <Status of={seen.status} />
        </Fact>
        <Fact name="Began">
          <Moment at={seen.at} />
        </Fact>
        {seen.durationMs !== undefined && <Fact name="Took">{duration(seen.durationMs)}</Fact>}
        <Fact name="Client">
          <Text of={seen.client} />
        </Fact>
        <Fact name="Language">
          <Text of={seen.language} />
        </Fact>
        {seen.principal !== undefined && (
          <Fact name="Principal">
            <Text of={seen.principal} />
          </Fact>
        )}
        <Fact name="Servers">
          {seen.servers.length === 0 ? 'none' : <Text of={seen.servers.join(', ')} />}
        </Fact>
        <Fact name="Calls">
          {seen.callCount}, {seen.failedCalls} failed; {bytes(moved)} went past the model
          {seen.codeBytes !== undefined &&
            moved > seen.codeBytes &&
            ` for ${bytes(seen.codeBytes)} of code: ${bytes(moved - seen.codeBytes)} less than by direct calls`}
        </Fact>
      </dl>
      {seen.error !== undefined && (
        <p class="warn">
          <Text of={seen.error.kind} />: <Text of={seen.error.message} />
        </p>
      )}
      <h3>Calls</h3>
      <Waterfall seen={seen} calls={calls} />
      {seen.callCount > calls.length && (
        <p class="note">
          {countOf(seen.callCount - calls.length, 'call')} have no line in the audit any more.
        </p>
      )}
      {questions.length > 0 && (
        <>
          <h3>Questions</h3>
          <ul>
            {questions.map((one) => (
              <li key={one.question}>
                {countOf(one.callCount, 'call')} of <ToolName server={one.server} tool={one.tool} />:{' '}
                <Text of={one.answer} />
                {one.who !== undefined && (
                  <>
                    {' '}
                    by <Text of={one.who} />
                  </>
                )}
                {one.by !== undefined && (
                  <>
                    {' '}
                    (<Text of={one.by} />)
                  </>
                )}
                {one.word !== undefined && (
                  <>
                    : <Text of={one.word} />
                  </>
                )}
                . Asked because of <Text of={one.rule} />.
              </li>
            ))}
          </ul>
        </>
      )}
      <RecordedTexts of={recorded} isOver={isOver} />
      {isOver && <RunFiles key={seen.run} run={seen.run} recorded={recorded} />}
    </article>
  );
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
