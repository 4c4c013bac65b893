// The page below `/ui` of a bridge over HTTP. It costs nothing until somebody asks for it, and holds nothing while nobody has it open.

import { PageLogin } from '../../service/oauth/page-login.js';
import { useFiledLink } from '../../watch/front/filed-links.js';
import { WatchFront } from '../../watch/front/front.js';
import { OPERATOR, type Sources } from '../../watch/front/sources.js';
import type { MakePage } from '../serving/serve-http.js';
import { pageSources } from './page-sources.js';

/** A browser that asks nothing for so long has to be let in anew. */
const KEEPS_MS = 3_600_000;
const LOOK_EVERY_MS = 60_000;
const CLOSED =
  'This page is opened by a link, and each link opens it once. Whoever runs this bridge makes one with `mcp-sandbox-bridge ui --service`.';

export const servicePage: MakePage = (prepared, { isKnown, observer, signal }) => {
  const login = PageLogin.of(prepared.settings, observer);
  let sources: (Sources & Disposable) | undefined;
  const front = new WatchFront({
    prefix: '/ui',
    keepsMs: KEEPS_MS,
    closed: CLOSED,
    ...(login && {
      login: {
        begin: (redirect) => login.begin(redirect),
        end: async (...answer) => {
          const { principal, isAdmin } = await login.end(...answer);
          return isAdmin ? OPERATOR : { sees: 'own', principal };
        },
      },
    }),
    useLink: (secret) => useFiledLink(prepared.settings.stateDir, secret),
    maySee: (viewer) =>
      viewer.sees === 'all' || (viewer.principal !== undefined && isKnown(viewer.principal)),
    sources: () => {
      sources ??= pageSources(prepared, signal);
      return sources;
    },
  });
  const forget = () => {
    sources?.[Symbol.dispose]();
    sources = undefined;
  };
  const timer = setInterval(() => {
    if (!front.isOpened) forget();
  }, LOOK_EVERY_MS).unref();
  signal.addEventListener('abort', () => {
    clearInterval(timer);
    front[Symbol.dispose]();
    forget();
  });
  return async (request, response, { host, isSecure }) =>
    await front.serve(request, response, `${isSecure ? 'https' : 'http'}://${host}`);
};
