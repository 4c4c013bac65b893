// Small parts of all views. Whatever somebody else has written becomes text of the document by `Text` and nothing else.

import type { ComponentChildren } from 'preact';
import { makeVisible } from '../../base/text/unseen.js';
import type { Recorded, SeenRun } from '../told/told.js';

/** A name or a line of somebody else: as text, in a direction of its own, and with what does not show as an escape. */
export const Text = ({ of }: { readonly of: string }) => (
  <bdi>{makeVisible(of).replace(/[\n\t\r]/g, (letter) => JSON.stringify(letter).slice(1, -1))}</bdi>
);

/** What may be wider or longer than its place: reached and scrolled by keys too. */
export const Scrolls = ({
  label,
  kind,
  children,
}: {
  readonly label: string;
  /** Class that says how it looks. */
  readonly kind: string;
  readonly children: ComponentChildren;
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys.
  <section class={`scrolls ${kind}`} tabIndex={0} aria-label={label}>
    {children}
  </section>
);

/** Lines of somebody else. */
export const Lines = ({ of, label }: { readonly of: string; readonly label: string }) => (
  <Scrolls label={label} kind="lines">
    <pre>{makeVisible(of.replaceAll('\r\n', '\n'))}</pre>
  </Scrolls>
);

export const ToolName = ({ server, tool }: { readonly server: string; readonly tool: string }) => (
  <span class="tool">
    <span class="server">
      <Text of={server} />.
    </span>
    <Text of={tool} />
  </span>
);

const STATUS_WORDS: Readonly<Record<string, string>> = {
  running: 'running',
  success: 'ended well',
  error: 'failed',
  timeout: 'timed out',
  validation_error: 'not accepted',
  cancelled: 'cancelled',
  refused: 'refused',
};

export const Status = ({ of }: { readonly of: string }) => (
  <span class={`status ${of === 'success' || of === 'running' ? of : 'bad'}`}>{STATUS_WORDS[of] ?? of}</span>
);

/** Time of day for today, else date and time, by the clock of the browser. */
export function Moment({ at }: { readonly at: string }) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const text = Number.isNaN(date.getTime())
    ? at
    : isToday
      ? date.toLocaleTimeString('en-GB')
      : date.toLocaleString('en-GB', { dateStyle: 'short', timeStyle: 'medium' });
  return <time dateTime={at}>{text}</time>;
}

export const duration = (ms: number): string =>
  ms < 1_000
    ? `${Math.round(ms)} ms`
    : ms < 60_000
      ? `${(ms / 1_000).toFixed(1)} s`
      : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;

export const bytes = (count: number): string =>
  count < 1_024
    ? `${count} B`
    : count < 1_048_576
      ? `${(count / 1_024).toFixed(1)} KB`
      : `${(count / 1_048_576).toFixed(1)} MB`;

export const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

export const linkToRun = ({ run }: Pick<SeenRun, 'run'>): string => `#/runs/${encodeURIComponent(run)}`;

export const Empty = ({ says }: { readonly says: string }) => <p class="empty">{says}</p>;

/** Code and output, as far as the bridge remembers them. */
export function RecordedTexts({ of, isOver }: { readonly of: Recorded | null; readonly isOver: boolean }) {
  if (of === null)
    return (
      <p class="note">
        Code and output are not remembered: the bridge has ended, MCP_BRIDGE_RECORD is off or was reached, or
        the run never began.
      </p>
    );
  const texts = [
    ['Code', of.code],
    ['Output', of.stdout],
    ['Errors', of.stderr],
    ['Result', of.result ?? ''],
    ['Why it failed', of.error ?? ''],
  ] as const;
  return (
    <>
      {texts.map(
        ([name, text]) =>
          text !== '' && (
            <section key={name} class="text">
              <h3>{name}</h3>
              <Lines of={text} label={name} />
            </section>
          ),
      )}
      {of.pictures.length > 0 && (
        <section class="text">
          <h3>Pictures</h3>
          {of.pictures.map(({ kind, data }, at) => (
            <img
              key={at}
              class="picture"
              src={`data:image/${kind};base64,${data}`}
              alt={`Shown by the run: ${at + 1}`}
            />
          ))}
        </section>
      )}
      {!isOver && <p class="note">What it has written is shown when it has ended.</p>}
    </>
  );
}
