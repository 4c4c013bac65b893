// What of the environment does not count as it stands, although nothing in it is wrong: names that no setting has, settings
// of another program, and values that another setting makes useless.

import { didYouMean } from '../../base/text/closest.js';
import { clipHarmless } from '../../base/text/text.js';
import { type Values, variableNames } from './variables.js';

const PREFIX = 'MCP_BRIDGE_';
/** Variables with this prefix belong to `code-exec`, which reads them itself. */
const EXEC_PREFIX = 'MCP_EXEC_';
const NAME_CHARS_SHOWN = 120;

/** Sentences that name the variable each. */
export const warningsAbout = (given: ReadonlyMap<string, string>, values: Values): readonly string[] => [
  ...unknownVariables(given.keys()),
  ...othersVariables(given.keys()),
  ...shortenedTimeout(given.has('MCP_BRIDGE_TIMEOUT'), values),
  ...languagesLeftOut(values),
  ...oauthWithoutIssuer(given),
];

function unknownVariables(names: Iterable<string>): string[] {
  const known: readonly string[] = variableNames;
  return [...names]
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .map(
      (name) =>
        `${clipHarmless(name, NAME_CHARS_SHOWN)} is no setting of this version.${didYouMean(name, known)}`,
    );
}

/** Those of the command server do nothing here, but for the one that both have. */
function othersVariables(names: Iterable<string>): string[] {
  const known: readonly string[] = variableNames;
  return [...names]
    .filter((name) => name.startsWith(EXEC_PREFIX) && !known.includes(name))
    .map((name) => `${clipHarmless(name, NAME_CHARS_SHOWN)} is for \`code-exec\`, and without effect here.`);
}

/** The default gives way to a lower maximum silently; what somebody has written does not. */
function shortenedTimeout(isSaid: boolean, values: Values): string[] {
  const { MCP_BRIDGE_TIMEOUT: timeout, MCP_BRIDGE_MAX_TIMEOUT: most } = values;
  if (!isSaid || timeout <= most) return [];
  return [`MCP_BRIDGE_TIMEOUT is ${timeout}; runs get ${most}, which is MCP_BRIDGE_MAX_TIMEOUT.`];
}

/** A language that is set up, and that nobody can use. */
function languagesLeftOut(values: Values): string[] {
  const { MCP_BRIDGE_LANGUAGES: offered } = values;
  if (offered === undefined) return [];
  const named = {
    MCP_BRIDGE_NETWORK: values.MCP_BRIDGE_NETWORK ?? [],
    MCP_BRIDGE_LANGUAGE_IMAGES: [...(values.MCP_BRIDGE_LANGUAGE_IMAGES?.keys() ?? [])],
  };
  return Object.entries(named).flatMap(([name, languages]) => {
    const left = [...new Set(languages)].filter((language) => !offered.includes(language));
    return left.length === 0
      ? []
      : [`${name} names ${left.join(', ')}, which MCP_BRIDGE_LANGUAGES leaves out: without effect.`];
  });
}

/** Nothing is checked by them where no token is taken. */
function oauthWithoutIssuer(given: ReadonlyMap<string, string>): string[] {
  if (given.has('MCP_BRIDGE_HTTP_OAUTH_ISSUER')) return [];
  return [...given.keys()]
    .filter((name) => /^MCP_BRIDGE_HTTP_OAUTH_(?:RESOURCE|AUDIENCE|SCOPES)$/.test(name))
    .map((name) => `${name} is without effect, since MCP_BRIDGE_HTTP_OAUTH_ISSUER is not set.`);
}
