// A machine in qemu without hardware's help: boots a disk, reads the report that its job writes to a serial line, one
// JSON object per line, and waits for the machine to turn itself off. Leaves the disks as they were.

import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';

const QEMU = 'qemu-system-x86_64';
const MEMORY_MB = 4096;
/**
 * Time in the machine is counted in instructions, one per nanosecond, while it has something to do. By its own clock it
 * is a slow computer and not one that stands still, so that the product's deadlines mean there what they mean elsewhere.
 * qemu allows that with one thread for all processors, hence one processor.
 */
const CLOCK = ['-icount', 'shift=0,sleep=on', '-accel', 'tcg,thread=single', '-smp', '1'];

/**
 * The report's lines, as far as they came. Throws when qemu fails. A machine that is not done after `timeoutMs` is
 * turned off; the report then lacks its last line. `onLine` gets each as it comes; `console` is a file for the console.
 */
export async function runMachine(
  root,
  jobDisk,
  /** @type {{ timeoutMs: number, console: string, onLine: (line: any) => void, qemu?: readonly string[], kernelArgs?: readonly string[] }} */
  { timeoutMs, console, onLine, qemu, kernelArgs },
) {
  const machine = startMachine(
    root,
    jobDisk,
    [...CLOCK, '-no-reboot', '-nic', 'none', '-serial', `file:${console}`, '-serial', 'stdio'],
    { stdio: ['ignore', 'pipe', 'pipe'], priority: constants.priority.PRIORITY_LOW, qemu, kernelArgs },
  );
  const timer = setTimeout(machine.kill, timeoutMs);
  const lines = [];
  createInterface({ input: machine.stdout }).on('line', (text) => {
    const line = parse(text);
    if (line === undefined) return;
    lines.push(line);
    onLine(line);
  });
  try {
    await machine.ended;
  } finally {
    clearTimeout(timer);
  }
  return lines;
}

/**
 * Boots the disk of `root` with the second disk `jobDisk` beside it; `args` are what this machine has besides, as qemu
 * takes them; `qemu` is its argv. `ended` rejects when qemu fails, and resolves when the machine is turned off or killed. Ends with us.
 */
export function startMachine(
  { disk, kernel, initrd },
  jobDisk,
  args,
  /** @type {{ kernelArgs?: readonly string[], stdio?: ['ignore', 'ignore' | 'pipe', 'pipe'], priority?: number, qemu?: readonly string[] }} */
  { kernelArgs = [], stdio = ['ignore', 'ignore', 'pipe'], priority, qemu = [QEMU] } = {},
) {
  const drive = (file, mode) => ['-drive', `file=${file},format=raw,if=virtio,cache=unsafe,${mode}`];
  const common = [
    ...['-cpu', 'max', '-m', String(MEMORY_MB), '-display', 'none'],
    ...['-kernel', kernel, '-initrd', initrd],
    ...[
      '-append',
      ['root=/dev/vda rw console=ttyS0 quiet systemd.show_status=1 panic=1', ...kernelArgs].join(' '),
    ],
    ...drive(disk, 'snapshot=on'),
    ...drive(jobDisk, 'readonly=on'),
  ];
  const [program, ...first] = qemu;
  const child = spawn(program, [...first, ...common, ...args], { stdio });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaint = (complaint + text).slice(-2_000);
  });
  /** @type {Promise<void>} */
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('spawn', () => priority !== undefined && setPriority(child.pid, priority));
    child.on('close', (code) => {
      process.off('exit', kill);
      if (code) reject(new Error(`${QEMU} ended with ${code}: ${complaint}`));
      else resolve();
    });
  });
  return { stdout: child.stdout, ended, kill };
}

/** Undefined for what the kernel or the line itself put between. */
function parse(text) {
  const json = text.slice(text.indexOf('{'));
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
