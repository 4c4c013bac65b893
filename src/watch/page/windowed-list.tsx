// A list of which only the rows in sight are in the document, so that ten thousand scroll as ten do. All rows have one height.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows above and below what is seen, so that a quick finger sees no gap, and Tab has somewhere to go. */
const SPARE_ROWS = 10;

export function WindowedList<T>({
  items,
  rowPixels,
  label,
  keyOf,
  row,
}: {
  readonly items: readonly T[];
  readonly rowPixels: number;
  readonly label: string;
  readonly keyOf: (item: T) => string;
  readonly row: (item: T) => ComponentChildren;
}) {
  const box = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  const look = () => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    setSeen((before) =>
      before.top === scrollTop && before.height === clientHeight
        ? before
        : { top: scrollTop, height: clientHeight },
    );
  };
  useLayoutEffect(() => {
    look();
    addEventListener('resize', look);
    return () => removeEventListener('resize', look);
  }, []);
  const first = Math.max(0, Math.floor(seen.top / rowPixels) - SPARE_ROWS);
  const last = Math.min(items.length, Math.ceil((seen.top + seen.height) / rowPixels) + SPARE_ROWS);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys.
    <section class="window" ref={box} onScroll={look} tabIndex={0} aria-label={label}>
      {/* biome-ignore lint/a11y/useSemanticElements: a list element would lose its role where it has no marks. */}
      <div role="list" class="rows" style={{ height: `${items.length * rowPixels}px` }}>
        {items.slice(first, last).map((item, at) => (
          // biome-ignore lint/a11y/useSemanticElements: as above.
          <div
            role="listitem"
            key={keyOf(item)}
            class="row"
            aria-setsize={items.length}
            aria-posinset={first + at + 1}
            style={{ top: `${(first + at) * rowPixels}px`, height: `${rowPixels}px` }}
          >
            {row(item)}
          </div>
        ))}
      </div>
    </section>
  );
}
