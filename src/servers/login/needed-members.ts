// What of an authorization server's answer anybody needs, each member in the form that the SDK's schemas want. They refuse a
// whole answer for one member, such as `"scope": null`, which many servers write; so what is optional and of another type is
// left out, as is everything that nobody reads. What a login rests on stays as it came, and is still refused there.

import { isObject, type JsonObject } from '../../base/json/json-object.js';

type Read = (said: unknown) => unknown;

const asItIs: Read = (said) => said;
const words: Read = (said) => (typeof said === 'string' && said !== '' ? said : undefined);
const address: Read = (said) =>
  typeof said === 'string' && URL.canParse(said) && /^https?:$/.test(new URL(said).protocol)
    ? said
    : undefined;
const isTrue: Read = (said) => (said === true || said === 'true' ? true : undefined);
const seconds: Read = (said) => {
  const number = typeof said === 'string' && said.trim() !== '' ? Number(said) : said;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
};
/** A list of texts; of one text, that one. */
const texts: Read = (said) => {
  if (typeof said === 'string') return [said];
  return Array.isArray(said) ? said.filter((one) => typeof one === 'string') : undefined;
};
const addresses: Read = (said) => {
  const list = texts(said);
  return Array.isArray(list) ? list.filter((one) => address(one) !== undefined) : undefined;
};
/** Scopes as one text; some servers write a list. An empty text grants nothing and says so. */
const scopes: Read = (said) =>
  typeof said === 'string' ? said : words([texts(said) ?? []].flat().join(' '));
const clientId: Read = (said) => (typeof said === 'number' ? String(said) : said);

const MEMBERS: Readonly<Record<string, Read>> = {
  // Of metadata.
  resource: asItIs,
  authorization_servers: addresses,
  scopes_supported: texts,
  issuer: asItIs,
  authorization_endpoint: asItIs,
  token_endpoint: asItIs,
  registration_endpoint: address,
  revocation_endpoint: address,
  response_types_supported: texts,
  token_endpoint_auth_methods_supported: texts,
  code_challenge_methods_supported: texts,
  client_id_metadata_document_supported: isTrue,
  authorization_response_iss_parameter_supported: isTrue,
  // Of a registration.
  client_id: clientId,
  client_secret: words,
  token_endpoint_auth_method: words,
  redirect_uris: addresses,
  // Of tokens.
  access_token: asItIs,
  token_type: words,
  issued_token_type: asItIs,
  expires_in: seconds,
  scope: scopes,
  refresh_token: words,
  id_token: words,
  // Of a refusal.
  error: asItIs,
  error_description: words,
};

/** The text of an answer with what is needed of it; any text that is no JSON object comes back as it was. */
export function withNeededMembers(text: string): string {
  let said: unknown;
  try {
    said = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return text;
  }
  if (!isObject(said)) return text;
  const needed: JsonObject = {};
  for (const [name, read] of Object.entries(MEMBERS)) {
    const value = Object.hasOwn(said, name) ? read(said[name]) : undefined;
    if (value !== undefined) needed[name] = value;
  }
  return JSON.stringify({ ...assumed(needed), ...needed });
}

/** What the schemas demand although nobody reads it, or although nothing else could stand there. */
function assumed(needed: JsonObject): JsonObject {
  if (needed['access_token'] !== undefined) return { token_type: 'Bearer' };
  if (needed['client_id'] !== undefined) return { redirect_uris: [] };
  const { issuer, token_endpoint: tokenEndpoint } = needed;
  if (issuer === undefined || tokenEndpoint === undefined) return {};
  return {
    response_types_supported: ['code'],
    jwks_uri: tokenEndpoint,
    subject_types_supported: [],
    id_token_signing_alg_values_supported: [],
  };
}
