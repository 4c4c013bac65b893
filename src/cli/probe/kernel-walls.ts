// The walls that keep a guest from the kernel's memory, from the first process and from the host's network.

import { underOwnKernel, type Wall } from './wall.js';

const none = (seen: string): boolean => seen === 'none';
const always = (words: string) => (): string => words;

/** Bytes that a connection with itself takes before it is full: two buffers of this size, and what is rounded up. */
const MAX_CONNECTION_BYTES = 1 << 20;

export const KERNEL_WALLS: readonly Wall[] = [
  {
    control: 'programs in the kernel',
    required: true,
    requested: always('not compiled'),
    how: 'attached to a socket by each option, also with bits that a filter may overlook',
    attempt: 'kernel_programs',
    held: none,
    unseen: underOwnKernel,
    remedy:
      'Use the seccomp profile that comes with the bridge: such programs use up memory that all of the host share.',
  },
  {
    control: 'the first process',
    required: true,
    requested: always('out of reach'),
    how: 'its memory, descriptors, limits, processors and priority',
    attempt: 'first_process',
    held: none,
    unseen: underOwnKernel,
  },
  {
    control: 'streams of the host',
    required: true,
    requested: always('pipes'),
    how: 'what each inherited descriptor is',
    attempt: 'streams',
    held: none,
  },
  {
    control: 'buffers of a connection',
    required: true,
    requested: ({ spec }) => `at most ${spec.sysctls['net.ipv4.tcp_wmem']?.split(' ').at(-1)} bytes each`,
    how: 'one with itself, filled and not read',
    attempt: 'connection_buffers',
    held: (seen) => Number.parseInt(seen, 10) < MAX_CONNECTION_BYTES,
    unseen: underOwnKernel,
  },
];
