// The certificate of the HTTP front, read anew when its files change. One that cannot be used changes nothing.

import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { BridgeError, messageOf } from '../../base/errors.js';

export type TlsFiles = { readonly cert: string; readonly key: string };
/** Chain and key. Throws E_SETTINGS where they cannot be read or do not belong together. */
export function readTls({ cert, key }: TlsFiles): { readonly cert: Buffer; readonly key: Buffer } {
  try {
    const material = { cert: readFileSync(cert), key: readFileSync(key) };
    createSecureContext(material);
    return material;
  } catch (thrown) {
    throw new BridgeError('E_SETTINGS', `The certificate ${cert} cannot be used: ${messageOf(thrown)}.`, {
      fault: 'operator',
      remedy: `Check MCP_BRIDGE_HTTP_CERT and MCP_BRIDGE_HTTP_KEY: both are PEM files, readable by the bridge's user, and the key ${key} belongs to the certificate.`,
    });
  }
}

/** From when until when the certificate holds, and for which names. Throws what X509Certificate throws. */
export function certificateFacts(cert: Buffer): {
  readonly from: Date;
  readonly until: Date;
  readonly names: string;
  /** SHA-256 of the certificate, written as Node's sockets write it. */
  readonly fingerprint: string;
  /** Whether clients accept it for this name or address; they look at no common name. */
  readonly isFor: (name: string) => boolean;
} {
  const read = new X509Certificate(cert);
  const { validFrom, validTo, subjectAltName, subject, fingerprint256: fingerprint } = read;
  const isFor = (name: string) =>
    (isIP(name) === 0 ? read.checkHost(name, { subject: 'never' }) : read.checkIP(name)) !== undefined;
  const names = subjectAltName ?? subject;
  return { from: new Date(validFrom), until: new Date(validTo), names, fingerprint, isFor };
}

/** Tells changes of both files by what stat says of them; a link that leads elsewhere is a change too. */
export class TlsWatch {
  readonly #files: TlsFiles;
  #seen: string;

  constructor(files: TlsFiles) {
    this.#files = files;
    this.#seen = this.#state();
  }

  /** Whether the files are others than when this was last asked. */
  hasChanged(): boolean {
    const state = this.#state();
    const isOther = state !== this.#seen;
    this.#seen = state;
    return isOther;
  }

  #state(): string {
    return [this.#files.cert, this.#files.key]
      .map((file) => {
        try {
          const stats = statSync(file, { throwIfNoEntry: false, bigint: true });
          return stats === undefined ? 'absent' : `${stats.ino}:${stats.mtimeNs}:${stats.size}`;
        } catch {
          // A link that leads in a circle, or a folder that was closed. A timer looks at the files, and an error thrown there
          // would be the bridge's end.
          return 'unseen';
        }
      })
      .join(' ');
  }
}
