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
export async function runMachine({ disk, kernel, initrd }, jobDisk, { timeoutMs, console, onLine }) {
  const drive = (file, mode) => ['-drive', `file=${file},format=raw,if=virtio,cache=unsafe,${mode}`];
  const args = [
    ...CLOCK,
    ...['-cpu', 'max', '-m', String(MEMORY_MB), '-display', 'none', '-no-reboot', '-nic', 'none'],
    ...['-kernel', kernel, '-initrd', initrd],
    ...['-append', 'root=/dev/vda rw console=ttyS0 quiet systemd.show_status=1 panic=1'],
    ...drive(disk, 'snapshot=on'),
    ...drive(jobDisk, 'readonly=on'),
    ...['-serial', `file:${console}`, '-serial', 'stdio'],
  ];
  const child = spawn(QEMU, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const endWithUs = () => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  const lines = [];
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaint = (complaint + text).slice(-2_000);
  });
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = parse(text);
    if (line === undefined) return;
    lines.push(line);
    onLine(line);
  });
  try {
    await new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('spawn', () => setPriority(child.pid, constants.priority.PRIORITY_LOW));
      child.on('close', (code) =>
        code ? reject(new Error(`${QEMU} ended with ${code}: ${complaint}`)) : resolve(),
      );
    });
  } finally {
    clearTimeout(timer);
    process.off('exit', endWithUs);
  }
  return lines;
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
