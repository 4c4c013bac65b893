// The page: which view is shown, as the address says it behind `#`, and what all of them have around them.

import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ShownNow, ViewName } from '../front/shown.js';
import { BridgesView } from './bridges.js';
import { isConnected, useConnection, useData } from './data.js';
import { NowView } from './now.js';
import { QuestionsView } from './questions.js';
import { RunView } from './run.js';
import { RunsView } from './runs.js';
import { SessionsView } from './sessions.js';
import { ToolsView } from './tools.js';
import { VerdictsView } from './verdicts.js';

const LABELS: Readonly<Record<ViewName, string>> = {
  now: 'Now',
  questions: 'Questions',
  runs: 'Runs',
  sessions: 'Sessions',
  bridges: 'Servers',
  tools: 'Tools',
  verdicts: 'Verdicts',
};
/** Those that there is something for, as the program says it. */
const VIEWS = (document.documentElement.dataset['views'] ?? '')
  .split(' ')
  .filter((name): name is ViewName => name in LABELS);

/** Token of the form that ends the visit, where the page does not end with the command that shows it. */
const LEAVE = document.documentElement.dataset['leave'];

/** The view and, behind a second slash, the thing that is looked at. */
function placeIn(hash: string): { readonly view: ViewName; readonly thing: string } {
  const [, name = '', thing = ''] = /^#\/([a-z]+)(?:\/(.*))?$/.exec(hash) ?? [];
  const view = VIEWS.find((known) => known === name) ?? VIEWS[0] ?? 'now';
  return { view, thing: decoded(thing) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

function Page() {
  const [place, setPlace] = useState(() => placeIn(location.hash));
  const heading = useRef<HTMLHeadingElement>(null);
  const now = useData<ShownNow>('now', ['now']);
  useConnection();
  useEffect(() => {
    const onHash = () => {
      setPlace(placeIn(location.hash));
      // Whoever hears the page is told where they are now.
      heading.current?.focus();
    };
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  const waiting = now.data?.questions ?? 0;
  const title = LABELS[place.view];
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${title} · mcp-sandbox-bridge`;
  }, [waiting, title]);
  return (
    <>
      <header>
        <p class="name">mcp-sandbox-bridge</p>
        <nav aria-label="Views">
          {VIEWS.map((view) => (
            <a key={view} href={`#/${view}`} aria-current={view === place.view ? 'page' : undefined}>
              {LABELS[view]}
              {view === 'questions' && waiting > 0 && (
                <span class="count">
                  {waiting}
                  <span class="unseen"> waiting</span>
                </span>
              )}
            </a>
          ))}
        </nav>
        {LEAVE !== undefined && (
          <form method="post" action="leave">
            <input type="hidden" name="token" value={LEAVE} />
            <button type="submit">Log out</button>
          </form>
        )}
      </header>
      <main>
        <h1 ref={heading} tabIndex={-1}>
          {place.view === 'runs' && place.thing !== '' ? 'Run' : title}
        </h1>
        <p role="status" class="lost" hidden={isConnected.value}>
          {isConnected.value ? '' : <Lost />}
        </p>
        <Shown place={place} now={now.data} />
      </main>
    </>
  );
}

function Lost() {
  if (LEAVE === undefined)
    return <>Nobody answers this page any more: what served it has ended. Open a new link.</>;
  return (
    <>
      Nobody answers this page any more: your time here is over, or what served it has ended.{' '}
      <a href="../">Open it anew</a>
    </>
  );
}

function Shown({
  place: { view, thing },
  now,
}: {
  readonly place: ReturnType<typeof placeIn>;
  readonly now: ShownNow | undefined;
}) {
  if (view === 'runs') return thing === '' ? <RunsView /> : <RunView id={thing} />;
  if (view === 'questions') return <QuestionsView />;
  if (view === 'sessions') return <SessionsView />;
  if (view === 'tools') return <ToolsView />;
  if (view === 'verdicts') return <VerdictsView />;
  return view === 'bridges' ? <BridgesView /> : <NowView now={now} />;
}

render(<Page />, document.body);
