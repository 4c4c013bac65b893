import { describe, expect, it } from 'vitest';
import { LOCAL_USER, type Principal } from '../../../src/base/principal.js';
import { reachAdvice } from '../../../src/service/principals/principal-access.js';

const CI: Principal = {
  id: 'token:ci#0123456789abcdef',
  name: 'ci',
  servers: [],
  scopes: [],
  expiresAtMs: undefined,
};
const ANN: Principal = { ...CI, id: 'oauth:https://i ann', name: 'ann', servers: undefined };

describe('why a principal has few servers', () => {
  it.each([
    [CI, undefined, "The token 'ci' reaches no server.", 'token change ci --servers NAMES'],
    [
      { ...CI, servers: ['a'] },
      undefined,
      'only the servers that were named',
      'token change ci --servers NAMES',
    ],
    [
      { ...CI, servers: undefined },
      ['a'],
      'only the servers that the operator has named',
      'MCP_BRIDGE_PRINCIPALS',
    ],
    [ANN, [], "'ann' reaches no server.", 'MCP_BRIDGE_PRINCIPALS'],
  ])('%j with %j', (principal, servers, said, next) => {
    const advice = reachAdvice(principal, { servers });
    expect(advice).toContain(said);
    expect(advice).toContain(next);
  });

  it('is nothing where nothing narrows it', () => {
    expect(reachAdvice(LOCAL_USER, { servers: undefined })).toBeUndefined();
    expect(reachAdvice({ ...CI, servers: undefined }, { servers: undefined })).toBeUndefined();
  });
});
