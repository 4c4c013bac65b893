// The signature of a token of an issuer, checked with the issuer's public keys. A key or an address in the token itself is not looked at.

import { errors, type JWTHeaderParameters, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { IssuerKeys } from './issuer-keys.js';

/** Signatures by a public key. `none` and all with a shared secret (HS256 …) are missing on purpose. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Most by which the clocks of issuer and bridge may differ. */
export const LEEWAY_SECONDS = 30;
/** Most keys that are tried for a token that names none: more would let a stranger have many signatures computed. */
const MAX_KEYS_TRIED = 10;

/**
 * The claims of a token that one of the keys has signed, and that is as `wanted` says, within the leeway of clocks. Throws what
 * jose throws, and IssuerUnavailable.
 */
export async function signedBy(
  keys: Pick<IssuerKeys, 'keyFor'>,
  text: string,
  wanted: Pick<JWTVerifyOptions, 'audience' | 'currentDate' | 'issuer' | 'requiredClaims'>,
): Promise<JWTPayload> {
  const options = { ...wanted, algorithms: ALGORITHMS, clockTolerance: LEEWAY_SECONDS };
  try {
    return (await jwtVerify(text, (header: JWTHeaderParameters) => keys.keyFor(header), options)).payload;
  } catch (thrown) {
    if (!(thrown instanceof errors.JWKSMultipleMatchingKeys)) throw thrown;
    let tried = 0;
    for await (const key of thrown) {
      if (++tried > MAX_KEYS_TRIED) break;
      try {
        return (await jwtVerify(text, key, options)).payload;
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}
