// Bridges that run, and for each its servers with their state and tools, its sandboxes that wait, and its memory.

import { useState } from 'preact/hooks';
import type { ShownNow } from '../front/shown.js';
import type { BridgeFacts } from '../told/told.js';
import { bytes, countOf, Empty, Moment, Text } from './parts.js';

const KINDS: Readonly<Record<BridgeFacts['kind'], string>> = {
  stdio: 'serves one agent',
  shared: 'serves your windows',
  http: 'serves over HTTP',
};
const MAX_TOOLS_SHOWN = 200;

export function BridgesView({ now }: { readonly now: ShownNow | undefined }) {
  const [words, setWords] = useState('');
  if (now === undefined) return <Empty says="Loading." />;
  if (now.bridges.length === 0)
    return (
      <Empty says="No bridge runs. A host starts one; it is seen here a moment after its tools were listed." />
    );
  const searched = words.toLowerCase().split(/\s+/).filter(Boolean);
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Find tools{' '}
          <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
      </form>
      {now.bridges.map((bridge) => (
        <article key={`${bridge.pid} ${bridge.since}`} aria-label={`Bridge of process ${bridge.pid}`}>
          <h2>
            Process {bridge.pid} {KINDS[bridge.kind]}
          </h2>
          <p class="note">
            Version <Text of={bridge.version} />, since <Moment at={bridge.since} />
            {bridge.folder !== '' && (
              <>
                , in <Text of={bridge.folder} />
              </>
            )}
            , {bytes(bridge.memoryBytes)} of memory
            {bridge.sandboxes !== undefined &&
              `, ${countOf(bridge.sandboxes.waiting, 'sandbox').replace('sandboxs', 'sandboxes')} waiting (at most ${bytes(bridge.sandboxes.heldBytes)})`}
          </p>
          {bridge.servers.length === 0 && <p class="note">No servers.</p>}
          {bridge.servers.map((server) => (
            <Server key={server.name} server={server} searched={searched} />
          ))}
        </article>
      ))}
    </>
  );
}

function Server({
  server: { name, state, tools, reason },
  searched,
}: {
  readonly server: BridgeFacts['servers'][number];
  readonly searched: readonly string[];
}) {
  const found = tools.filter((tool) => {
    const text = `${name} ${tool.name} ${tool.description}`.toLowerCase();
    return searched.every((word) => text.includes(word));
  });
  if (searched.length > 0 && found.length === 0) return null;
  const changed = tools.filter(({ isChanged }) => isChanged).length;
  return (
    <details open={searched.length > 0}>
      <summary>
        <strong>
          <Text of={name} />
        </strong>{' '}
        <span class="note">
          <Text of={state} />
          {tools.length > 0 && `, ${countOf(tools.length, 'tool')}`}
        </span>
        {changed > 0 && <span class="warn"> {changed} changed since first seen</span>}
      </summary>
      {reason !== undefined && (
        <p class="warn">
          <Text of={reason} />
        </p>
      )}
      {tools.length === 0 ? (
        <p class="note">Its tools are not known here: they are learned when it is first started.</p>
      ) : (
        <dl class="tools">
          {found.slice(0, MAX_TOOLS_SHOWN).map((tool) => (
            <div key={tool.name}>
              <dt>
                <Text of={tool.name} />
                {tool.isChanged && <span class="warn"> changed</span>}
              </dt>
              <dd>
                <Text of={tool.description} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </details>
  );
}
