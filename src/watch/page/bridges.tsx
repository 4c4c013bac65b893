// Bridges that run, and for each its servers with their state and tools, its sandboxes that wait, and its memory.

import { useState } from 'preact/hooks';
import type { ShownBridge } from '../front/shown.js';
import type { BridgeFacts } from '../told/told.js';
import { useData } from './data.js';
import { Filters, hasWords } from './filters.js';
import { bytes, countOf, Empty, Moment, Text } from './parts.js';

const KINDS: Readonly<Record<BridgeFacts['kind'], string>> = {
  stdio: 'serves one agent',
  shared: 'serves your windows',
  http: 'serves over HTTP',
};
const MAX_TOOLS_SHOWN = 200;

export function BridgesView() {
  const [words, setWords] = useState('');
  const { data } = useData<readonly ShownBridge[]>('bridges', ['bridges']);
  if (data === undefined) return <Empty says="Loading." />;
  if (data.length === 0)
    return (
      <Empty says="Nothing runs. A bridge is seen here a moment after its host has listed its tools, and your servers over HTTP from your first request." />
    );
  return (
    <>
      <Filters label="Find tools" words={words} onWords={setWords} />
      {data.map((bridge, at) =>
        'pid' in bridge ? (
          <Bridge key={`${bridge.pid} ${bridge.since}`} bridge={bridge} words={words} />
        ) : (
          <article key={at} aria-label="Your servers">
            <h2>Your servers</h2>
            <Servers of={bridge.servers} words={words} />
          </article>
        ),
      )}
    </>
  );
}

function Bridge({ bridge, words }: { readonly bridge: BridgeFacts; readonly words: string }) {
  const { pid, kind, version, since, folder, memoryBytes, sandboxes, servers, principals = [] } = bridge;
  return (
    <article aria-label={`Bridge of process ${pid}`}>
      <h2>
        Process {pid} {KINDS[kind]}
      </h2>
      <p class="note">
        Version <Text of={version} />, since <Moment at={since} />
        {folder !== '' && (
          <>
            , in <Text of={folder} />
          </>
        )}
        , {bytes(memoryBytes)} of memory
        {sandboxes !== undefined &&
          `, ${countOf(sandboxes.waiting, 'sandbox').replace('sandboxs', 'sandboxes')} waiting (at most ${bytes(sandboxes.heldBytes)})`}
      </p>
      {(servers.length > 0 || principals.length === 0) && <Servers of={servers} words={words} />}
      {principals.map(({ principal, servers: own }, at) => (
        <section key={`${principal} ${at}`} class="text">
          <h3>
            For <Text of={principal} />
          </h3>
          <Servers of={own} words={words} />
        </section>
      ))}
    </article>
  );
}

function Servers({ of, words }: { readonly of: BridgeFacts['servers']; readonly words: string }) {
  if (of.length === 0) return <p class="note">No servers.</p>;
  return (
    <>
      {of.map((server) => (
        <Server key={server.name} server={server} words={words} />
      ))}
    </>
  );
}

function Server({
  server: { name, state, tools, reason },
  words,
}: {
  readonly server: BridgeFacts['servers'][number];
  readonly words: string;
}) {
  const isSearched = words.trim() !== '';
  const found = tools.filter(hasWords(words, (tool) => [name, tool.name, tool.description]));
  if (isSearched && found.length === 0) return null;
  const changed = tools.filter((tool) => tool.changed !== undefined).length;
  return (
    <details open={isSearched}>
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
              </dt>
              <dd>
                {tool.changed !== undefined && (
                  <p class="warn">
                    Changed since first seen: <Text of={tool.changed} />
                  </p>
                )}
                <Text of={tool.description} />
                {tool.arguments !== '' && (
                  <p class="note">
                    Arguments: <Text of={tool.arguments} />
                  </p>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </details>
  );
}
