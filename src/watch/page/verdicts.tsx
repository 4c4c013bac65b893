// Verdicts on calls of tools, the newest first: what was allowed, refused or asked, by which rule, and who has answered.

import { useMemo, useState } from 'preact/hooks';
import type { SeenVerdict } from '../gather/history.js';
import { useData } from './data.js';
import { ANY, Choice, distinct, Filters, FoundCount, hasWords } from './filters.js';
import { Empty, linkToRun, Moment, Text, ToolName } from './parts.js';
import { WindowedList } from './windowed-list.js';

const ROW_PIXELS = 64;
/** The list may be a megabyte, and a busy bridge changes it all the time. */
const ASKS_AT_MOST_EVERY_MS = 2_000;
const VERDICTS: readonly SeenVerdict['is'][] = ['allowed', 'asked', 'refused'];

export function VerdictsView() {
  const { data } = useData<readonly SeenVerdict[]>('verdicts', ['runs', 'now'], ASKS_AT_MOST_EVERY_MS);
  const [words, setWords] = useState('');
  const [is, setIs] = useState(ANY);
  const [principal, setPrincipal] = useState(ANY);
  const verdicts = data ?? [];
  const principals = useMemo(() => distinct(verdicts.map((one) => one.principal ?? 'local')), [verdicts]);
  const wanted = useMemo(() => {
    const isFound = hasWords(words, partsOf);
    return verdicts.filter(
      (one) =>
        (is === ANY || one.is === is) &&
        (principal === ANY || (one.principal ?? 'local') === principal) &&
        isFound(one),
    );
  }, [verdicts, words, is, principal]);
  if (data === undefined) return <Empty says="Loading." />;
  return (
    <>
      <Filters words={words} onWords={setWords}>
        <Choice label="Verdict" value={is} choices={VERDICTS} onChange={setIs} />
        {principals.length > 1 && (
          <Choice label="Principal" value={principal} choices={principals} onChange={setPrincipal} />
        )}
      </Filters>
      <FoundCount found={wanted.length} all={verdicts.length} of="verdict" />
      {wanted.length === 0 ? (
        <Empty
          says={verdicts.length === 0 ? 'No tool has been called yet.' : 'No verdict is as you want it.'}
        />
      ) : (
        <WindowedList
          items={wanted}
          rowPixels={ROW_PIXELS}
          label="Verdicts"
          keyOf={({ run, of }) => `${run} ${of}`}
          row={(one) => (
            <a class="run verdict" href={linkToRun(one)}>
              <Moment at={one.at} />
              <span class={`status ${STATUS[one.is]}`}>{one.is}</span>
              <span class="grow">
                <ToolName server={one.server} tool={one.tool} />
                <span class="note reason">
                  <Answer of={one} />
                  <Text of={one.rule} />
                </span>
              </span>
            </a>
          )}
        />
      )}
    </>
  );
}

/** Classes of the colours that runs have too. */
const STATUS: Readonly<Record<SeenVerdict['is'], string>> = {
  allowed: 'success',
  asked: 'running',
  refused: 'bad',
};

function Answer({ of: { answer, who, by, word } }: { readonly of: SeenVerdict }) {
  if (answer === undefined) return null;
  return (
    <>
      answer: <Text of={answer} />
      {who !== undefined && (
        <>
          {' '}
          by <Text of={who} />
        </>
      )}
      {by !== undefined && (
        <>
          {' '}
          (<Text of={by} />)
        </>
      )}
      {word !== undefined && (
        <>
          : <Text of={word} />
        </>
      )}
      ; rule:{' '}
    </>
  );
}

const partsOf = (one: SeenVerdict): readonly (string | undefined)[] => [
  ...[one.run, `${one.server}.${one.tool}`, one.rule, one.principal],
  ...[one.answer, one.who, one.by, one.word],
];
