// A machine whose podman is used from outside, as that of a laptop's virtual machine is: reached over ssh at one port of
// this computer's loopback, with a key that is made for this run. The machine itself reaches nothing.

import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.mjs';
import { command } from './command.mjs';
import { startMachine } from './machine.mjs';
import { connectMonitor } from './qmp.mjs';
import { ADDRESS, ENGINE_SOCKET, IMAGE_FILE, KEYS_FILE, USER } from './suites.mjs';

/**
 * Time in this machine is the time outside, since the deadlines are the bridge's, which is outside. Each of the two
 * processors then has a thread of its own.
 */
const CLOCK = ['-accel', 'tcg,thread=multi', '-smp', '2'];
/** Without them an emulated machine takes twice as long: reading its clock leaves the emulation, and so do guards of jumps. */
const KERNEL_ARGS = ['tsc=reliable', 'clocksource=tsc', 'mitigations=off'];
/** From its start until it lets the user in; beside other work that took up to 90 s. */
const BOOT_MS = 10 * 60_000;
const TRY_AGAIN_MS = 1_000;
/** By this address of qemu's a machine reaches the loopback of the computer that it runs on, if it is let. */
const HOST_SEEN = '10.0.2.2';
const SPARE_MB = 16;

/**
 * Boots `root` and waits until the user's engine can be reached. `image` is the name of ours, in the engine of this
 * computer. All that is made lies in the folder `scratch`; `console` is a file for the machine's console. Throws when the
 * machine does not come up.
 */
export async function startEngineMachine(root, { image, scratch, console }) {
  const key = join(scratch, 'key');
  rmSync(key, { force: true });
  await command(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', key]);
  const port = await freePort();
  const monitor = join(scratch, 'monitor');
  const forward = `user,id=outside,restrict=on,hostfwd=tcp:127.0.0.1:${port}-${ADDRESS}:22`;
  const { ended, kill } = startMachine(
    root,
    await keysDisk(image, scratch, key),
    [
      ...CLOCK,
      ...['-netdev', forward, '-device', 'virtio-net-pci,netdev=outside'],
      ...['-qmp', `unix:${monitor},server=on,wait=off`, '-serial', `file:${console}`],
    ],
    { kernelArgs: KERNEL_ARGS },
  );
  const machine = new EngineMachine({ key, port, ended, kill });
  ended.catch(() => {});
  await Promise.race([
    machine.untilReachable(),
    ended.then(() => Promise.reject(new Error('it turned off'))),
  ]);
  machine.execute = await connectMonitor(monitor);
  return machine;
}

class EngineMachine {
  #key;
  #port;
  #kill;
  /** Gives qemu a command, once it listens. */
  execute;

  constructor({ key, port, ended, kill }) {
    this.#key = key;
    this.#port = port;
    this.#kill = kill;
    /** Settles when the machine is off. */
    this.ended = ended;
  }

  /** What makes podman's client, and so the bridge, use the engine of this machine. */
  get connection() {
    return {
      url: `ssh://${USER.name}@127.0.0.1:${this.#port}${ENGINE_SOCKET}`,
      key: this.#key,
    };
  }

  /** What a shell command wrote to stdout in there. Throws with what it said. */
  shell(text, { as = USER.name } = {}) {
    return command(['ssh', ...this.#sshArgs(as), text]);
  }

  /**
   * Waits in there for the end of the process `pid`. `watched` resolves once somebody looks, every 20 ms, and `gone` with
   * the time on performance.now() at which the end was known here.
   */
  watch(pid) {
    const loop = `echo watched; while [ -d /proc/${pid} ]; do sleep 0.02; done; echo gone`;
    const child = spawn('ssh', [...this.#sshArgs(USER.name), loop], { stdio: ['ignore', 'pipe', 'ignore'] });
    const lines = createInterface({ input: child.stdout });
    const until = (wanted) =>
      new Promise((resolve, reject) => {
        lines.on('line', (text) => text === wanted && resolve(performance.now()));
        lines.on('close', () => reject(new Error(`nobody watched process ${pid} to its end`)));
      });
    const watch = { watched: until('watched'), gone: until('gone') };
    watch.gone.catch(() => {});
    return watch;
  }

  /** Whether the machine gets a connection to this computer: to its own sshd's port here, which is known to be open. */
  async reachesUs() {
    const connect = `timeout 10 bash -c 'exec 3<>/dev/tcp/${HOST_SEEN}/${this.#port}' && echo yes || echo no`;
    return (await this.shell(`${connect} 2>/dev/null`)).trim() === 'yes';
  }

  /** As a computer does whose lid is closed. */
  pause() {
    return this.execute('stop');
  }

  resume() {
    return this.execute('cont');
  }

  /** Waits until the user can log in and the engine's socket is there. `except`: an earlier boot, which does not count. */
  async untilReachable(except) {
    const until = performance.now() + BOOT_MS;
    for (;;) {
      try {
        const boot = await this.shell(`test -S ${ENGINE_SOCKET} && cat /proc/sys/kernel/random/boot_id`);
        if (boot !== except) return boot;
      } catch (thrown) {
        if (performance.now() > until) throw thrown;
      }
      await delay(TRY_AGAIN_MS);
    }
  }

  /** At once, as when the power fails. */
  async end() {
    this.#kill();
    await this.ended.catch(() => {});
  }

  #sshArgs(user) {
    const options = [
      'BatchMode=yes',
      'StrictHostKeyChecking=no',
      'UserKnownHostsFile=/dev/null',
      'LogLevel=ERROR',
    ];
    return [
      ...['-F', '/dev/null', '-i', this.#key, '-p', String(this.#port)],
      ...[...options, 'ConnectTimeout=30'].map((option) => `-o${option}`),
      `${user}@127.0.0.1`,
    ];
  }
}

/** The second disk of this machine: our image, and who may log in, as root too, so that it can be turned off. */
async function keysDisk(image, scratch, key) {
  const folder = join(scratch, 'keys');
  const disk = join(scratch, 'keys.img');
  for (const old of [folder, disk]) rmSync(old, { recursive: true, force: true });
  mkdirSync(folder);
  copyFileSync(`${key}.pub`, join(folder, basename(KEYS_FILE)));
  const file = join(folder, basename(IMAGE_FILE));
  await command(['podman', 'save', '--quiet', '--output', file, image]);
  await command(['chmod', '-R', 'a+rX', folder]);
  const size = `${Math.ceil((statSync(file).size / 1024 ** 2) * 1.2) + SPARE_MB}M`;
  await command(['mkfs.ext4', '-q', '-F', '-L', 'job', '-m', '0', '-d', folder, disk, size]);
  return disk;
}
