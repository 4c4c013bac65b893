// Memory that the kernel keeps for a program without privileges, one program for each kind. Data only. Each makes at most
// `targetMb`, in several processes, holds it for a moment and prints what it has made; what it is refused, it prints too.

/** Held long enough to be seen from outside, whatever makes it. */
const HOLD_SECONDS = 1.5;

const PRELUDE = `
import ctypes, errno, os, select, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
TARGET = {targetMb} << 20
WORKERS = {workers}
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def fill(end, piece=b"x" * 16384):
    end.setblocking(False)
    sent = 0
    try:
        while True:
            sent += end.send(piece)
    except (BlockingIOError, OSError) as error:
        if error.errno not in (errno.EAGAIN, errno.ENOBUFS, errno.EWOULDBLOCK):
            raise
    return sent
`;

const SPREAD = `
ready, told = os.pipe()
for _ in range(WORKERS):
    if os.fork() == 0:
        made, kept, why = 0, [], "all of it"
        try:
            for amount in make(kept):
                made += amount
                if made >= TARGET // WORKERS:
                    break
        except (OSError, MemoryError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
        os.write(told, f"{made} {why}\\n".encode())
        time.sleep(30)
        os._exit(0)
said, until = b"", time.monotonic() + 20
while said.count(b"\\n") < WORKERS and select.select([ready], [], [], max(0, until - time.monotonic()))[0]:
    said += os.read(ready, 65536)
rows = said.decode().splitlines()
print("made", sum(int(row.split()[0]) for row in rows) >> 20, "MB:", ", ".join(sorted({row.split(" ", 1)[1] for row in rows})), flush=True)
time.sleep(${HOLD_SECONDS})
os._exit(0)
`;

/** `workers`: processes at once, each with 1,024 descriptors at most. `make` yields bytes that it takes the kernel to keep. */
const KINDS = {
  'TCP on loopback': {
    workers: 10,
    make: `
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(128)
    while True:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
        kept += [one, other]
        yield fill(one) + fill(other)`,
  },
  'UDP on loopback': {
    workers: 10,
    make: `
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while True:
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.bind(("127.0.0.1", 0))
        kept.append(end)
        for _ in range(12):
            sender.sendto(b"x" * 16384, end.getsockname())
        yield 12 * 16384`,
  },
  'unix sockets': {
    workers: 10,
    make: `
    while True:
        one, other = socket.socketpair()
        kept += [one, other]
        yield fill(one) + fill(other)`,
  },
  'unix datagrams': {
    workers: 10,
    make: `
    while True:
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        kept += [one, other]
        yield fill(one) + fill(other)`,
  },
  'netlink answers': {
    workers: 10,
    make: `
    import struct
    question = struct.pack("=LHHLLBxHiII", 32, 18, 1, 1, 0, 0, 0, 1, 0, 0)
    while True:
        end = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        end.setblocking(False)
        kept.append(end)
        try:
            for _ in range(400):
                end.send(question)
        except OSError:
            pass
        yield 200_000`,
  },
  pipes: {
    workers: 20,
    make: `
    while True:
        read_end, write_end = os.pipe()
        kept += [read_end, write_end]
        os.set_blocking(write_end, False)
        sent = 0
        try:
            while True:
                sent += os.write(write_end, b"x" * 4096)
        except BlockingIOError:
            pass
        yield sent + 1024`,
  },
  'page tables': {
    workers: 4,
    make: `
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    size = 64 << 30
    while True:
        place = libc.mmap(None, size, 1, 0x4022, -1, 0)
        if place in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(size), 15)
        for at in range(place, place + size, 2 << 20):
            ctypes.string_at(at, 1)
            yield 4096`,
  },
  mappings: {
    workers: 30,
    make: `
    libc.mmap.restype = ctypes.c_void_p
    for at in range(60_000):
        libc.mmap(None, ctypes.c_size_t(4096), 1 if at % 2 else 0, 0x22, -1, ctypes.c_long(0))
        yield 256`,
  },
  'locks on files': {
    workers: 4,
    make: `
    import fcntl
    file = open(f"/tmp/locks-{os.getpid()}", "wb")
    kept.append(file)
    at = 1 << 40
    while True:
        at -= 2
        fcntl.lockf(file, fcntl.LOCK_EX, 1, at)
        yield 256`,
  },
  'epoll items': {
    workers: 10,
    make: `
    ends = [fd for _ in range(250) for fd in os.pipe()]
    while True:
        queue = select.epoll()
        kept.append(queue)
        for fd in ends:
            queue.register(fd)
            yield 192`,
  },
  'inotify watches': {
    workers: 10,
    make: `
    watched = []
    for number in range(500):
        path = f"/tmp/watched-{os.getpid()}-{number}"
        open(path, "w").close()
        watched.append(path.encode())
    while True:
        end = libc.inotify_init()
        if end == -1:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        kept.append(end)
        for path in watched:
            if libc.inotify_add_watch(end, path, 0xFFF) == -1:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            yield 160`,
  },
  'POSIX timers': {
    workers: 4,
    make: `
    while True:
        call(222, ctypes.c_long(1), None, ctypes.byref(ctypes.c_int()))
        yield 320`,
  },
  'queued signals': {
    workers: 4,
    make: `
    signal.pthread_sigmask(signal.SIG_BLOCK, [40])
    info = (ctypes.c_int * 32)(40, 0, -1)
    while True:
        call(129, ctypes.c_long(os.getpid()), ctypes.c_long(40), info)
        yield 160`,
  },
  'event counters': {
    workers: 10,
    make: `
    while True:
        end = libc.eventfd(0, 0)
        if end == -1:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        yield 512`,
  },
  'attributes of files': {
    workers: 2,
    make: `
    for number in range(100_000):
        path = f"/workspace/named-{os.getpid()}-{number}"
        open(path, "w").close()
        for name in range(16):
            os.setxattr(path, f"user.{name}", b"x" * 4000)
            yield 4096`,
  },
  'filters on sockets': {
    workers: 1,
    make: `
    import struct
    program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.setsockopt(1, 26, struct.pack("HL", 1, ctypes.addressof(program)))
    yield TARGET`,
  },
  'filters of calls': {
    workers: 1,
    make: `
    import struct
    program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    call(157, ctypes.c_long(22), ctypes.c_long(2), struct.pack("HL", 1, ctypes.addressof(program)))
    yield TARGET`,
  },
  keys: {
    workers: 1,
    make: `
    call(248, b"user", b"one", b"x" * 1024, ctypes.c_long(1024), ctypes.c_long(-2))
    yield TARGET`,
  },
  'message queues': {
    workers: 1,
    make: `
    call(240, b"queue", ctypes.c_long(0o102), ctypes.c_long(0o600), None)
    yield TARGET`,
  },
  'System V memory': {
    workers: 1,
    make: `
    call(29, ctypes.c_long(0), ctypes.c_long(1 << 20), ctypes.c_long(0o1600))
    yield TARGET`,
  },
  mounts: {
    workers: 1,
    make: `
    call(165, b"none", b"/tmp", b"tmpfs", ctypes.c_long(0), None)
    yield TARGET`,
  },
};

export const KIND_NAMES = Object.keys(KINDS);

/** The program for one kind, which makes `targetMb` at most. */
export function kernelMemoryProgram(name, targetMb) {
  const { workers, make } = KINDS[name];
  const prelude = PRELUDE.replace('{targetMb}', targetMb).replace('{workers}', workers);
  return `${prelude}\ndef make(kept):${make}\n${SPREAD}`;
}
