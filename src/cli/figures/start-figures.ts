// Figures of a process that serves, where it is to keep any. Nothing is loaded where not, and a start waits for nothing.

import { messageOf } from '../../base/errors.js';
import { type BridgeEvent, fanOut, type Observer } from '../../base/log/events.js';
import { loadedOnce } from '../../base/replaced-part.js';
import type { Redactor } from '../../base/secrets/redact.js';
import { mayExport } from '../../settings/environment/otel-export.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Figures } from './figures.js';

const load = loadedOnce(() => import('./figures.js'));

/** Events that are kept until the rest is loaded; a start has a few. */
const MAX_EARLY = 1_000;

export type StartedFigures = AsyncDisposable & {
  /** Tells `observer`, and the figures. */
  readonly beside: (observer: Observer) => Observer;
  /** The page of Prometheus; undefined where no figures are kept. */
  readonly page: (() => Promise<ReturnType<Figures['page']>>) | undefined;
};

/** `observer` hears of trouble; `isRead` is whether somebody may ask for the page. */
export function startFigures(
  { settings, redactor }: { readonly settings: Pick<Settings, 'otel'>; readonly redactor: Redactor },
  observer: Observer,
  isRead = false,
): StartedFigures {
  if (!isRead && !mayExport(settings.otel))
    return { beside: (other) => other, page: undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  const early: BridgeEvent[] = [];
  let hear: Observer = (event) => {
    if (early.length < MAX_EARLY) early.push(event);
  };
  const loading = load().then(({ Figures }) => {
    const figures = new Figures(settings.otel, { redactor, observer });
    hear = figures.observe;
    for (const event of early.splice(0)) hear(event);
    return figures;
  });
  loading.catch((thrown: unknown) => {
    hear = () => {};
    observer({ type: 'figures.trouble', message: `No figures are kept: ${messageOf(thrown)}` });
  });
  return {
    beside: (other) => fanOut(other, (event) => hear(event)),
    page: async () => (await loading).page(),
    [Symbol.asyncDispose]: async () => {
      const figures = await loading.catch(() => undefined);
      await figures?.[Symbol.asyncDispose]();
    },
  };
}
