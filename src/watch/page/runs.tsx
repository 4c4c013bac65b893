// What ran, the newest first, by server, tool, status and words.

import { useMemo, useState } from 'preact/hooks';
import type { ListedRun } from '../gather/history.js';
import { useData } from './data.js';
import { ANY, Choice, distinct, Filters, FoundCount, hasWords } from './filters.js';
import { countOf, duration, Empty, linkToRun, Moment, Status, Text } from './parts.js';
import { WindowedList } from './windowed-list.js';

const ROW_PIXELS = 44;
/** The list may be megabytes, and a busy bridge changes it all the time. */
const ASKS_AT_MOST_EVERY_MS = 2_000;

export function RunsView() {
  const { data } = useData<readonly ListedRun[]>('runs', ['runs'], ASKS_AT_MOST_EVERY_MS);
  const [words, setWords] = useState('');
  const [status, setStatus] = useState(ANY);
  const [server, setServer] = useState(ANY);
  const [tool, setTool] = useState(ANY);
  const [principal, setPrincipal] = useState(ANY);
  const runs = data ?? [];
  const choices = useMemo(
    () => ({
      status: distinct(runs.map((run) => run.status)),
      server: distinct(runs.flatMap((run) => run.servers)),
      tool: distinct(runs.flatMap((run) => run.tools)),
      principal: distinct(runs.map((run) => run.principal ?? 'local')),
    }),
    [runs],
  );
  const wanted = useMemo(() => {
    const isFound = hasWords(words, partsOf);
    return runs.filter(
      (run) =>
        (status === ANY || run.status === status) &&
        (server === ANY || run.servers.includes(server)) &&
        (tool === ANY || run.tools.includes(tool)) &&
        (principal === ANY || (run.principal ?? 'local') === principal) &&
        isFound(run),
    );
  }, [runs, words, status, server, tool, principal]);
  if (data === undefined) return <Empty says="Loading." />;
  return (
    <>
      <Filters words={words} onWords={setWords}>
        <Choice label="Status" value={status} choices={choices.status} onChange={setStatus} />
        <Choice label="Server" value={server} choices={choices.server} onChange={setServer} />
        <Choice label="Tool" value={tool} choices={choices.tool} onChange={setTool} />
        {choices.principal.length > 1 && (
          <Choice label="Principal" value={principal} choices={choices.principal} onChange={setPrincipal} />
        )}
      </Filters>
      <FoundCount found={wanted.length} all={runs.length} of="run" />
      {wanted.length === 0 ? (
        <Empty says={runs.length === 0 ? 'Nothing has run yet.' : 'No run is as you want it.'} />
      ) : (
        <WindowedList
          items={wanted}
          rowPixels={ROW_PIXELS}
          label="Runs"
          keyOf={({ run }) => run}
          row={(run) => (
            <a class="run" href={linkToRun(run)}>
              <Moment at={run.at} />
              <Status of={run.status} />
              <span class="grow">
                <Text of={run.language} /> · <Text of={run.client} />
                {run.servers.length > 0 && (
                  <>
                    {' '}
                    · <Text of={run.servers.join(', ')} />
                  </>
                )}
                {run.error !== undefined && (
                  <>
                    {' '}
                    · <Text of={run.error.message} />
                  </>
                )}
              </span>
              <span class="number">{countOf(run.callCount, 'call')}</span>
              <span class="number">{run.durationMs === undefined ? '' : duration(run.durationMs)}</span>
            </a>
          )}
        />
      )}
    </>
  );
}

const partsOf = (run: ListedRun): readonly (string | undefined)[] => [
  ...[run.run, run.client, run.language, run.status, run.principal],
  ...[...run.servers, ...run.tools, run.error?.kind, run.error?.message],
];
