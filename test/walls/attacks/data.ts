// A folder of the user's that code sees: it cannot be written, nothing in it leads out of it, and what lies in it is data, no
// program and no device.

import { type Probe, py } from '../attack.js';
import type { Relaxation } from '../relaxations.js';
import { probesOf } from './define.js';

const probe = probesOf('data');

const READ_ONLY: readonly Relaxation[] = ['read-only data'];
/** Without it a link would lead to the file: only that the host's folders are not there keeps it from that. */
const OUT: readonly Relaxation[] = ['host files'];
const CANARY = 'return open(HOST["folder"] + "/canary.txt").read()';

const there = (code: string): string => py`
  if not os.path.isdir("/data"):
      raise Absent("no data folder on an engine elsewhere")
  ${code}
`;

export const dataAttacks: readonly Probe[] = [
  probe('make a file', 'Makes a file in a data folder.', READ_ONLY, there('return make("/data")')),
  probe(
    'change a file',
    'Changes a file of a data folder that all may write.',
    READ_ONLY,
    there('open("/data/in.txt", "r+").write("x")\nreturn "written"'),
  ),
  probe(
    'remove a file',
    'Removes a file of a data folder, or puts a link in its place.',
    READ_ONLY,
    there(
      'os.symlink("/etc/passwd", "/data/link")\nos.rename("/data/link", "/data/taken")\nos.unlink("/data/taken")\nreturn "exchanged"',
    ),
  ),
  probe(
    'change its mode',
    'Opens a data folder to others by its mode.',
    READ_ONLY,
    there('os.utime("/data/in.txt")\nreturn "touched"'),
  ),
  probe(
    'a link to a path of the host',
    'Follows a link of a data folder to a file of the host.',
    OUT,
    there('return open("/data/absolute").read()'),
  ),
  probe(
    'a link to a folder beside it',
    'Follows a link that leads out of a data folder by dots.',
    OUT,
    there('return open("/data/relative").read()'),
    { control: CANARY },
  ),
  probe(
    'the folder above it',
    'Climbs out of a data folder by an open descriptor of it.',
    OUT,
    there(py`
      at = os.open("/data", os.O_RDONLY)
      for _ in range(40):
          at = os.open("..", os.O_RDONLY, dir_fd=at)
          for name in os.listdir(at):
              try:
                  return open(os.open(name + "/canary.txt", os.O_RDONLY, dir_fd=at)).read()
              except OSError:
                  continue
      raise Held("nothing of the host above it")
    `),
    { control: CANARY },
  ),
  probe(
    'a hard link',
    'Takes a file of a data folder into a folder of its own.',
    READ_ONLY,
    there('os.link("/data/in.txt", "/workspace/mine")\nreturn "linked"'),
    // Two mounts are two file systems to a link, so that it needs more than a folder that can be written.
    { control: there('os.link("/data/in.txt", "/data/mine")\nos.unlink("/data/mine")\nreturn "linked"') },
  ),
  probe(
    'run a program',
    'Runs a program that lies in a data folder.',
    ['data options'],
    there('import subprocess\nreturn f"ended with {subprocess.run([\'/data/tool\']).returncode}"'),
  ),
  probe(
    'a setuid bit',
    'Finds a program of a data folder whose setuid bit counts.',
    ['data options'],
    there(py`
      if os.statvfs("/data").f_flag & os.ST_NOSUID:
          raise Held("nosuid")
      return oct(os.stat("/data/tool").st_mode)
    `),
    { gvisor: 'its kernel gives no program of another owner more rights, and does not tell of it' },
  ),
  probe(
    'a device',
    'Opens a device that lies in a data folder.',
    ['data options'],
    there(py`
      if not os.path.exists("/data/device"):
          raise Absent("only root can make a device")
      return f"{len(open('/data/device', 'rb').read(8))} bytes"
    `),
    { gvisor: 'it passes no device on' },
  ),
];
