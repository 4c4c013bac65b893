// Nothing but lo, and nothing on it. The listeners are the test's own, on the host.

import { type Probe, py } from '../attack.js';
import { probesOf } from './define.js';

const probe = probesOf('network');

const connect = (family: string, address: string) => py`
  import socket
  with socket.socket(socket.${family}, socket.SOCK_STREAM) as client:
      client.settimeout(2)
      client.connect(${address})
      said = client.recv(100).decode()
  return said
`;

/** Some versions of Node fill the name up with zeros. */
const ABSTRACT = py`
  import socket
  for name in ("\0" + HOST["token"], ("\0" + HOST["token"]).ljust(108, "\0")):
      with socket.socket(socket.AF_UNIX) as client:
          client.settimeout(2)
          try:
              client.connect(name)
              return client.recv(100).decode()
          except ConnectionRefusedError:
              continue
  raise Held("ECONNREFUSED")
`;

const datagram = (address: string) => py`
  import socket
  with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
      client.settimeout(2)
      client.sendto(b"walls", (${address}, HOST["udpPort"]))
      return client.recv(100).decode()
`;

/** Through when there is a way there at all; nothing is sent. */
const route = (family: string, address: string) => py`
  import socket
  with socket.socket(socket.${family}, socket.SOCK_DGRAM) as client:
      client.connect(${address})
      return f"a route from {client.getsockname()[0]}"
`;

const GVISOR_OFF = 'its network is switched off, so that no control gets through';

export const networkAttacks: readonly Probe[] = [
  [
    'tcp to 127.0.0.1',
    'Connects to a listener on the host’s loopback.',
    connect('AF_INET', '("127.0.0.1", HOST["port"])'),
  ],
  [
    'tcp to the host',
    'Connects to the host’s own address.',
    connect('AF_INET', '(HOST["address"], HOST["addressPort"])'),
  ],
  ['tcp to ::1', 'Connects to the host’s loopback by IPv6.', connect('AF_INET6', '("::1", HOST["port6"])')],
  [
    'tcp to a link-local address',
    'Connects to the host’s link-local address.',
    `if not HOST["linkLocal"]:\n    raise Absent("the host has none")\n${connect('AF_INET6', 'socket.getaddrinfo(HOST["linkLocal"], HOST["port6"])[0][4]')}`,
  ],
  [
    'tcp to a mapped address',
    'Connects by an IPv4 address written as IPv6.',
    connect('AF_INET6', '("::ffff:127.0.0.1", HOST["port"])'),
  ],
  [
    'tcp to 0.0.0.0',
    'Connects to the address that means this host.',
    connect('AF_INET', '("0.0.0.0", HOST["addressPort"])'),
  ],
  ['udp to 127.0.0.1', 'Sends a datagram to the host’s loopback.', datagram('"127.0.0.1"')],
  ['udp to the host', 'Sends a datagram to the host’s address.', datagram('HOST["address"]')],
  ['a name server', 'Has a way to a public name server.', route('AF_INET', '("9.9.9.9", 53)')],
  [
    'the metadata address',
    'Has a way to the address where clouds keep credentials.',
    route('AF_INET', '("169.254.169.254", 80)'),
  ],
  ['multicast', 'Has a way to everybody on the link.', route('AF_INET', '("224.0.0.251", 5353)')],
  ['an abstract socket', 'Connects to a socket that has no file.', ABSTRACT],
  [
    'interfaces',
    'Finds an interface besides lo.',
    py`
      import socket
      names = [name for _, name in socket.if_nameindex() if name != "lo"]
      if not names:
          raise Held("lo")
      return " ".join(names)
    `,
  ],
  [
    'interfaces by netlink',
    'Asks the kernel for all links.',
    py`
      import socket, struct
      with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
          link.settimeout(2)
          link.send(struct.pack("=LHHLLBxHiII", 32, 18, 0x301, 1, 0, 0, 0, 0, 0, 0))
          said = b""
          while struct.pack("=H", 3) not in said[-64:] and len(said) < 200_000:
              said += link.recv(65_536)
              if said[-16:-12] == struct.pack("=L", 20) or b"\x14\x00\x00\x00\x03\x00" in said:
                  break
      count, at = 0, 0
      while at + 16 <= len(said):
          size, kind = struct.unpack_from("=LH", said, at)
          if kind == 3 or size < 16:
              break
          count += 1
          at += (size + 3) & ~3
      if count <= 1:
          raise Held(f"{count} link")
      return f"{count} links"
    `,
  ],
  [
    'routes',
    'Finds a route.',
    py`
      rows = open("/proc/net/route").read().splitlines()[1:]
      if not rows:
          raise Held("none")
      return f"{len(rows)} routes"
    `,
  ],
  [
    'the host’s connections',
    'Reads who the host is connected with.',
    py`
      rows = open("/proc/net/tcp").read().splitlines()[1:]
      if not rows:
          raise Held("none")
      return f"{len(rows)} rows"
    `,
  ],
].map(([id = '', tries = '', code = '']) => probe(id, tries, ['network'], code, { gvisor: GVISOR_OFF }));

const socketKind = (id: string, tries: string, code: string): Probe =>
  probe(id, tries, ['seccomp'], `import socket\n${code}`, {
    gvisor: 'its kernel does not know the family',
  });

export const socketAttacks: readonly Probe[] = [
  socketKind(
    'a vsock socket',
    'Opens a socket to the hypervisor, which no network namespace holds back.',
    'socket.socket(40, socket.SOCK_STREAM)\nreturn "open"',
  ),
  socketKind(
    'a crypto socket',
    'Opens a socket to the kernel’s ciphers.',
    py`
      try:
          socket.socket(38, socket.SOCK_SEQPACKET)
      except OSError as error:
          if error.errno == errno.EAFNOSUPPORT:
              raise Absent("this kernel has no AF_ALG")
          raise
      return "open"
    `,
  ),
  socketKind(
    'the audit log by netlink',
    'Opens a socket to the kernel’s audit log.',
    py`
      try:
          socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)
      except OSError as error:
          if error.errno == errno.EPROTONOSUPPORT:
              raise Absent("this kernel has no audit log")
          raise
      return "open"
    `,
  ),
];

/** Every stream that it has may be a socket of the host's network. */
const ofStreams = (body: string) => py`
  import fcntl, socket, stat, struct
  for number in sorted(int(name) for name in os.listdir("/proc/self/fd")):
      try:
          if not stat.S_ISSOCK(os.fstat(number).st_mode):
              continue
      except OSError:
          continue
      end = socket.socket(fileno=os.dup(number))
${body.replace(/^/gm, '      ')}
  raise Held("no stream is a socket of others")
`;

/** The control has the streams that Node gives a child. A socket of the sandbox's own sees nothing but lo. */
export const streamAttacks: readonly Probe[] = [
  probe(
    'interfaces through a stream',
    'Asks the network that one of its streams belongs to for its interfaces.',
    [],
    ofStreams(py`
      room = ctypes.create_string_buffer(4096)
      asked = fcntl.ioctl(end, 0x8912, struct.pack("iL", 4096, ctypes.addressof(room)))
      names = [room.raw[at:at + 16].rstrip(b"\0").decode() for at in range(0, struct.unpack("iL", asked)[0], 40)]
      if [name for name in names if name != "lo"]:
          return " ".join(names)
    `),
    { gvisor: GVISOR_OFF },
  ),
  probe(
    'a name of the host through a stream',
    'Takes an abstract name in the network that one of its streams belongs to.',
    [],
    ofStreams(py`
      if end.getsockname() in ("", b"", None):
          end.bind("\0" + HOST["token"] + "-taken")
          return "taken"
    `),
    { gvisor: GVISOR_OFF },
  ),
  probe(
    'a process of the host through a stream',
    'Asks who is at the other end of one of its streams.',
    [],
    ofStreams(py`
      pid, uid, gid = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, 17, 12))
      return f"pid {pid}, user {uid}"
    `),
    { gvisor: GVISOR_OFF },
  ),
];
