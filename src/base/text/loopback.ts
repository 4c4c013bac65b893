// Which hosts are this machine alone: those that decide whether something may be sent unencrypted, or needs a credential.

import { isIP } from 'node:net';

/**
 * Whether `host` leads to this machine by its name: localhost, 127.0.0.0/8 or ::1, an address of IPv6 with or without brackets.
 * Any other name may lead anywhere.
 */
export function isLoopback(host: string): boolean {
  const plain = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^::ffff:(?=127\.)/, '');
  return plain === 'localhost' || plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'));
}
