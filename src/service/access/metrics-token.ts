// Who may read the figures of the whole process: whoever has the one token that stands in a file of the operator's, and nobody
// else. Tokens and logins of principals open no figures, which are of all principals together, and this token opens nothing else.

import { createHash, timingSafeEqual } from 'node:crypto';
import { BridgeError } from '../../base/errors.js';
import { readGuarded } from '../../settings/files/guarded-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { type HttpAnswer, problem, type RequestFacts } from '../http/parts.js';
import { isConfidential } from './authenticator.js';
import { TOKEN_PREFIX } from './token-file.js';

const NAME = 'MCP_BRIDGE_HTTP_METRICS';
const MAX_FILE_BYTES = 4_096;
/** The header of a credential; whatever is longer is none. */
const BEARER = /^bearer +(?<token>[\w.~+/=-]{1,1024})$/i;
/** 24 characters at random are more than anybody guesses. */
const TOKEN = /^[\w.~+/=-]{24,1024}$/;
const READABLE_BY_OTHERS = 0o077;

export class MetricsToken {
  readonly #file: string;
  readonly #host: HostFacts;

  /** Throws E_SETTINGS where the file cannot be used. */
  constructor(file: string, host: HostFacts) {
    this.#file = file;
    this.#host = host;
    const read = this.#read();
    if ('trouble' in read)
      throw new BridgeError('E_SETTINGS', `${NAME}: ${file} ${read.trouble}.`, {
        fault: 'operator',
        remedy: `Make one: (umask 077; openssl rand -hex 32 > ${file})`,
      });
  }

  /** The answer for somebody who may not read them; undefined for whoever may. The file is read anew, so that it can be changed. */
  refusalOf(facts: RequestFacts): HttpAnswer | undefined {
    const [header = '', ...others] = facts.authorization ?? [];
    const { token } = BEARER.exec(header)?.groups ?? {};
    if (token === undefined || others.length > 0)
      return refused(`Figures need the token of the file that ${NAME} names, as a bearer token.`);
    if (!isConfidential(facts))
      return problem(403, 'The token came unencrypted over a network: use https, then make another one.');
    const read = this.#read();
    if ('trouble' in read)
      return problem(503, 'The token cannot be checked now: its file is not as it has to be.');
    const isRight = timingSafeEqual(digestOf(token), digestOf(read.token));
    return isRight ? undefined : refused('This is not the token for figures.');
  }

  /** `trouble` is the end of a sentence about the file. */
  #read(): { readonly token: string } | { readonly trouble: string } {
    const read = readGuarded(this.#file, MAX_FILE_BYTES, this.#host);
    if (read.state === 'absent') return { trouble: 'does not exist' };
    if (read.state === 'refused') return { trouble: read.message };
    if (this.#host.uid !== undefined && (Number(read.stats.mode) & READABLE_BY_OTHERS) !== 0)
      return { trouble: `can be read by other users; run: chmod 600 '${this.#file}'` };
    const token = read.text.trim();
    if (token.startsWith(TOKEN_PREFIX)) return { trouble: 'has a token of /mcp, which agents have' };
    if (!TOKEN.test(token))
      return { trouble: 'has no token: expected one word of 24 to 1024 letters, digits and -._~+/=' };
    return { token };
  }
}

const refused = (detail: string): HttpAnswer =>
  problem(401, detail, { 'www-authenticate': 'Bearer realm="figures"' });

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
