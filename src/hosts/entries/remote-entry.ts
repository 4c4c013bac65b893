// From the checked fields of a remote entry to what a RemoteSpec says of its server: address, headers, hints for a
// login. Connects to nothing; an address is judged by its words alone.

import { isRecord, textsOf } from '../../base/json/records.js';
import type { OAuthHints, RemoteSpec } from '../downstream-spec.js';
import type { Transport } from '../terms/dialect.js';
import type { RemoteFields } from './entry-fields.js';
import type { Filling } from './filling.js';
import { machineLoginOf } from './machine-login.js';

/** What a header may carry: visible characters, space, tab, and the upper half of Latin-1 (RFC 9110, 5.5). */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

type Remote = Pick<RemoteSpec, 'transport' | 'url' | 'headers' | 'headersHelper' | 'oauth'>;

/** What stands against the entry is said to `filling`. */
export function remoteOf(
  fields: RemoteFields,
  transport: Exclude<Transport, 'stdio'>,
  filling: Filling,
  spelledUrl: string,
): Remote {
  const { headersHelper } = fields;
  return {
    transport,
    url: checkedUrl(filling.text(fields.url), spelledUrl, filling),
    headers: headersOf(fields, filling),
    headersHelper:
      headersHelper === null || headersHelper === undefined ? undefined : filling.text(headersHelper),
    oauth: oauthOf(fields, filling),
  };
}

/** An address may hold a token, so what is said of a wrong one does not quote it. */
function checkedUrl(written: string, field: string, filling: Filling): string {
  // One that still wants a variable has been objected to already.
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url === undefined) {
    if (filling.objection === undefined)
      filling.object({ kind: 'wrong-field', field, trouble: 'is not an address such as https://…' });
  } else if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const trouble = `begins with ${url.protocol}//; only http:// and https:// are supported`;
    filling.object({ kind: 'wrong-field', field, trouble });
  } else if (url.username !== '' || url.password !== '') {
    const trouble = 'holds a user name or password; put them into an Authorization header';
    filling.object({ kind: 'wrong-field', field, trouble });
  }
  return written;
}

function headersOf(fields: RemoteFields, filling: Filling): Record<string, string> {
  const { headers, headerVariables, bearerVariable } = fields;
  const written = { ...filling.map(headers ?? {}) };
  for (const [name, variable] of Object.entries(headerVariables ?? {}))
    written[name] = filling.variable(variable);
  if (bearerVariable) written['Authorization'] = `Bearer ${filling.variable(bearerVariable)}`;
  for (const [name, value] of Object.entries(written)) {
    // A variable that was read from a file often ends in a newline.
    const trimmed = value.trim();
    if (!HEADER_VALUE.test(trimmed)) filling.object({ kind: 'wrong-header', header: name });
    written[name] = trimmed;
  }
  return written;
}

/** Every spelling that some host has; what is of another shape is left out, since the server may tell it itself. */
function oauthOf({ oauth, scopes }: RemoteFields, filling: Filling): OAuthHints | false {
  if (oauth === false) return false;
  const said = isRecord(oauth) ? oauth : {};
  const first = (...names: string[]): unknown => {
    const name = names.find((one) => Object.hasOwn(said, one) && said[one] !== null);
    return name === undefined ? undefined : said[name];
  };
  const text = (value: unknown) =>
    typeof value === 'string' && value !== '' ? filling.text(value) : undefined;
  const port = first('callbackPort', 'callback_port');
  const machine = machineLoginOf(said, filling);
  return {
    clientId: text(first('clientId', 'client_id', 'CLIENT_ID')),
    clientSecret: text(first('clientSecret', 'client_secret', 'CLIENT_SECRET')),
    scopes: scopesOf(first('scopes', 'scope', 'oauthScopes') ?? scopes),
    callbackPort:
      typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined,
    authServerMetadataUrl: text(first('authServerMetadataUrl')),
    ...(machine === undefined ? {} : { machine }),
  };
}

const scopesOf = (written: unknown): string[] =>
  typeof written === 'string' ? written.split(/[\s,]+/).filter((scope) => scope !== '') : textsOf(written);
