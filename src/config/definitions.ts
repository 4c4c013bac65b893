// Which entries are one and the same server under several names or in several hosts. Judges definitions by their words;
// connects to nothing.

import type { DownstreamSpec } from './downstream-spec.js';

/**
 * Two entries are one server when they start the same command with the same arguments in the same folder, or reach the
 * same address, and give no variable and no header two different values. One that says less is the same server still;
 * two tokens are two accounts, and stay two servers.
 */
export class Definitions {
  readonly #known = new Map<string, Array<{ readonly spec: DownstreamSpec; readonly values: Values }>>();

  /** The first one added that is the same server. */
  twinOf(spec: DownstreamSpec): DownstreamSpec | undefined {
    const values = valuesOf(spec);
    return this.#known.get(placeOf(spec))?.find((other) => agree(values, other.values))?.spec;
  }

  add(spec: DownstreamSpec): void {
    const place = placeOf(spec);
    const known = this.#known.get(place) ?? [];
    known.push({ spec, values: valuesOf(spec) });
    this.#known.set(place, known);
  }
}

function placeOf(spec: DownstreamSpec): string {
  return JSON.stringify(
    spec.transport === 'stdio' ? [spec.command, spec.args, spec.cwd] : [new URL(spec.url).href],
  );
}

type Values = ReadonlyMap<string, string>;

/** What tells accounts apart. */
function valuesOf(spec: DownstreamSpec): Values {
  if (spec.transport === 'stdio') return new Map(Object.entries(spec.env));
  const headers = Object.entries(spec.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const { headersHelper, oauth } = spec;
  return new Map([
    ...headers,
    ...(headersHelper === undefined ? [] : ([['headers helper', headersHelper]] as const)),
    ...(oauth === false || oauth.clientId === undefined ? [] : ([['client id', oauth.clientId]] as const)),
  ]);
}

const agree = (one: Values, other: Values): boolean =>
  [...one].every(([name, value]) => (other.get(name) ?? value) === value);
