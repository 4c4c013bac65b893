// What sockets and other files of a container could hold of the kernel's memory, from the kernel's own tables.

import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fileBytes, socketBytes, socketRoom } from '../../src/sandbox/limits/measure.js';

const KIB = 1024;
const spec = {
  sysctls: { 'net.ipv4.tcp_rmem': '4096 16384 65536', 'net.ipv4.tcp_wmem': '4096 16384 32768' },
};
const settings = (path: string): string | undefined =>
  ({ '/proc/sys/net/core/rmem_default': '200\n', '/proc/sys/net/core/wmem_default': '100\n' })[path];

/** As Linux 6.18 prints it, shortened. */
const PROTOCOLS = `protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de sh ss gs se re bi br ha uh gp em
TCPv6     2432      1     860   no     320   yes  kernel      y  y  y  y  y  y  y  y  y  y  y  y  y  n  y  y  y  y
UNIX-STREAM 1152    4      -1   NI       0   yes  kernel      y  n  n  n  n  n  n  n  n  n  n  n  n  n  n  y  n  n
UDP       1344      2       0   NI       0   yes  kernel      y  y  y  n  y  n  y  n  y  y  y  y  y  n  n  y  y  y
TCP       2304      3     860   no     320   yes  kernel      y  y  y  y  y  y  y  y  y  y  y  y  y  n  y  y  y  y
NETLINK   1096      1      -1   NI       0   no   kernel      n  n  n  n  n  n  n  n  n  n  n  n  n  n  n  n  n  n
`;

describe('socketBytes', () => {
  const tcp = 4 * 96 * KIB;
  const udp = 2 * 300;
  const netlink = 200 + 32 * KIB;
  it.each([
    ['nobody', tcp + udp + netlink + 4 * 100],
    ['cgroup v1', tcp + udp + netlink],
    ['cgroup v2', netlink],
  ] as const)('counted by %s', (counting, bytes) => {
    expect(socketBytes(7, socketRoom(spec, counting, settings), () => PROTOCOLS)).toBe(bytes);
  });

  it('has no answer of a process that is gone', () => {
    expect(() => socketBytes(7, new Map(), () => undefined)).toThrow('no process 7');
  });

  it('takes the kernel’s defaults where its settings cannot be read', () => {
    const room = socketRoom(spec, 'nobody', () => undefined);
    expect(room.get('UDP')).toBe(2 * 212_992);
  });
});

describe('fileBytes', () => {
  it('counts what is open, by the folder’s own size', ({ skip }) => {
    if (statSync('/proc/self/fd').size === 0) skip('this kernel does not say how many are open');
    expect(fileBytes(['/proc/self'])).toBeGreaterThan(0);
    expect(fileBytes(['/proc/0'])).toBe(0);
  });
});
