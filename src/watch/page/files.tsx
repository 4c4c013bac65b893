// Files that a run has left: texts as text, pictures as pictures, and everything else to be saved. Each is asked for when it is opened.

import { useState } from 'preact/hooks';
import { makeVisible } from '../../base/text/unseen.js';
import type { ShownFile } from '../front/shown.js';
import type { Recorded } from '../told/told.js';
import { load, useData } from './data.js';
import { bytes, Lines, Text } from './parts.js';

/** Nobody reads more in a browser; the saved file has all of it. */
const MAX_SHOWN_CHARS = 200_000;

/** `recorded` has names of files that are gone, and texts of small ones that are kept nowhere else. */
export function RunFiles({ run, recorded }: { readonly run: string; readonly recorded: Recorded | null }) {
  const { data } = useData<readonly ShownFile[]>(`files?run=${encodeURIComponent(run)}`, []);
  if (data === undefined) return null;
  const { files: names = [], texts = [] } = recorded ?? {};
  const isKept = (name: string) => data.some((file) => file.name === name);
  const small = texts.filter(({ name }) => !isKept(name));
  const gone = names.filter((name) => !isKept(name) && !small.some((one) => one.name === name));
  if (data.length + small.length + gone.length === 0) return null;
  return (
    <section class="text">
      <h3>Files</h3>
      <ul class="files">
        {data.map((file) => (
          <KeptFile key={file.name} run={run} file={file} />
        ))}
        {small.map(({ name, text }) => (
          <OpenedFile key={name} name={name} size={new Blob([text]).size} open={async () => ({ text })} />
        ))}
        {gone.map((name) => (
          <li key={name}>
            <Text of={name} /> <span class="note">not kept, or not any more</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function KeptFile({ run, file }: { readonly run: string; readonly file: ShownFile }) {
  const { name, shows } = file;
  const address = `file?${new URLSearchParams({ run, name })}`;
  const open = async (): Promise<Opened> => {
    const { content, says } = await load(address);
    if (content === undefined) return { says };
    if (shows === 'text') return { text: await content.text() };
    return { picture: await dataUrl(new Blob([content], { type: `image/${shows}` })) };
  };
  return (
    <OpenedFile
      name={name}
      size={file.bytes}
      open={shows === undefined ? undefined : open}
      address={address}
    />
  );
}

/** What has become of a wish to see a file. */
type Opened = { readonly text: string } | { readonly picture: string } | { readonly says: string };

/** A file in the list; `open` is absent where the page cannot show it, `address` where it cannot be saved. */
function OpenedFile({
  name,
  size,
  open,
  address,
}: {
  readonly name: string;
  readonly size: number;
  readonly open: (() => Promise<Opened>) | undefined;
  readonly address?: string;
}) {
  const [opened, setOpened] = useState<Opened>();
  const toggle = async (wanted: () => Promise<Opened>) =>
    setOpened(opened === undefined ? await wanted() : undefined);
  const named = (
    <span class="unseen">
      {' '}
      <Text of={name} />
    </span>
  );
  return (
    <li>
      <p>
        <Text of={name} /> <span class="note">{bytes(size)}</span>
        {open !== undefined && (
          <button type="button" aria-expanded={opened !== undefined} onClick={() => void toggle(open)}>
            {opened === undefined ? 'Show' : 'Hide'}
            {named}
          </button>
        )}
        {address !== undefined && (
          <a href={address}>
            Save
            {named}
          </a>
        )}
      </p>
      {opened !== undefined && <Content of={opened} name={name} />}
    </li>
  );
}

function Content({ of, name }: { readonly of: Opened; readonly name: string }) {
  if ('says' in of) return <p class="warn">{of.says}</p>;
  const label = `The file ${makeVisible(name)}`;
  if ('picture' in of) return <img class="picture" src={of.picture} alt={label} />;
  const isCut = of.text.length > MAX_SHOWN_CHARS;
  return (
    <>
      <Lines of={isCut ? of.text.slice(0, MAX_SHOWN_CHARS) : of.text} label={label} />
      {isCut && <p class="note">This is its beginning. Save it to have all of it.</p>}
    </>
  );
}

/** The page's policy lets pictures in as data alone. */
const dataUrl = (content: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(content);
  });
