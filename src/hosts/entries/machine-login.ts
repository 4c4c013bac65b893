// A login that needs no person, as an entry's `oauth` describes it: by which grant, at which authorization server, and
// where its secrets stand. Secrets are named and not written: by an environment variable, or by a file that is read
// whenever a token is asked for.

import { z } from 'zod';
import type { MachineLogin, SecretSource } from '../downstream-spec.js';
import type { Filling } from './filling.js';

const GRANTS = ['client_credentials', 'cross_app_access'] as const;
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const;

const filled = z.string('must be a text').min(1, 'must not be empty');
const issuer = filled.refine(
  (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  'must be the https address of an authorization server',
);

const secret = {
  clientSecret: filled.optional(),
  clientSecretVariable: filled.optional(),
  clientSecretFile: filled.optional(),
};

const identity = z.object({
  issuer,
  clientId: filled,
  ...secret,
  tokenVariable: filled.optional(),
  tokenFile: filled.optional(),
});

const fields = z.object({
  grant: z.enum(GRANTS, { error: `must be ${GRANTS.join(' or ')}` }),
  issuer,
  clientId: filled,
  ...secret,
  privateKeyVariable: filled.optional(),
  privateKeyFile: filled.optional(),
  algorithm: z.enum(ALGORITHMS, { error: `must be ${ALGORITHMS.join(', ')}` }).default('RS256'),
  identity: identity.optional(),
});

type WrittenLogin = Readonly<Record<string, unknown>>;

/** Undefined where the entry names no such grant, and where it does so wrongly, which is said to `filling`. */
export function machineLoginOf(said: WrittenLogin, filling: Filling): MachineLogin | undefined {
  if (said['grant'] === undefined || said['grant'] === null || said['grant'] === 'authorization_code')
    return undefined;
  const { data, error } = fields.safeParse(said);
  if (data === undefined) {
    for (const { path, message, code } of error.issues) {
      const trouble = code === 'invalid_type' && path.length > 0 ? `is missing or no text` : message;
      filling.object({ kind: 'wrong-field', field: ['oauth', ...path].join('.'), trouble });
    }
    return undefined;
  }
  const object = (field: string, trouble: string) =>
    filling.object({ kind: 'wrong-field', field: `oauth.${field}`, trouble });
  const clientSecret = sourceOf(data, 'clientSecret', filling);
  const pem = sourceOf(data, 'privateKey', filling);
  if (clientSecret !== undefined && pem !== undefined)
    object('privateKeyFile', 'is there besides a client secret; name one of the two');
  if (data.grant === 'client_credentials' && clientSecret === undefined && pem === undefined) {
    object(
      'clientSecretVariable',
      'is missing; name a secret (clientSecretVariable, clientSecretFile) or a key (privateKeyVariable, privateKeyFile)',
    );
  }
  const token = data.identity && sourceOf(data.identity, 'token', filling, 'identity.');
  if (data.grant === 'cross_app_access' && token === undefined) {
    object(
      'identity',
      'is missing or names no token; it needs issuer, clientId, and tokenVariable or tokenFile with the ID token',
    );
  }
  return {
    grant: data.grant,
    issuer: filling.text(data.issuer),
    clientId: filling.text(data.clientId),
    secret: clientSecret,
    privateKey: pem && { pem, algorithm: data.algorithm },
    identity:
      data.identity && token
        ? {
            issuer: filling.text(data.identity.issuer),
            clientId: filling.text(data.identity.clientId),
            secret: sourceOf(data.identity, 'clientSecret', filling, 'identity.'),
            token,
          }
        : undefined,
  };
}

/** By `nameVariable`, by `nameFile`, or as it stands in `name`, where variables are filled in as everywhere. */
function sourceOf(said: WrittenLogin, name: string, filling: Filling, within = ''): SecretSource | undefined {
  const [written, variable, file] = ['', 'Variable', 'File'].map((ending) => said[`${name}${ending}`]);
  const ways = [written, variable, file].filter((way) => way !== undefined);
  if (ways.length > 1) {
    const field = `oauth.${within}${name}`;
    filling.object({ kind: 'wrong-field', field, trouble: 'is named in more than one way; keep one' });
  }
  if (typeof variable === 'string') return { value: filling.variable(variable) };
  if (typeof file === 'string') return { file: filling.path(file) };
  return typeof written === 'string' ? { value: filling.text(written) } : undefined;
}
