import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { freeRange } from '../../../src/cli/doctor/findings.js';
import { failureIn } from '../../../src/cli/setup/answer-step.js';
import { choicesStep } from '../../../src/cli/setup/choices-step.js';
import { engineStep, idsStep } from '../../../src/cli/setup/engine-step.js';
import { hostsStep } from '../../../src/cli/setup/hosts-step.js';
import { endText, performSteps, reportOf, stepText } from '../../../src/cli/setup/setup.js';
import type { SetupContext } from '../../../src/cli/setup/step.js';
import { mountsOverlay, storageStep } from '../../../src/cli/setup/storage-step.js';
import { commandLine } from '../../support/command-line.js';
import { PlayedSetup } from './played-setup.js';

const ALL_BUT_PODMAN = ['newuidmap', 'newgidmap', 'runc'] as const;

let played: PlayedSetup;
beforeEach(() => {
  played = new PlayedSetup();
});
afterEach(() => {
  played[Symbol.dispose]();
  vi.unstubAllEnvs();
});

/** All that `setup` would print on a terminal of that many columns. */
async function printed(setup: SetupContext, columns: number): Promise<string> {
  vi.stubEnv('COLUMNS', String(columns));
  let text = '';
  const steps = await performSteps(setup, (report) => {
    text += stepText(report, played.home);
  });
  return (text + endText(reportOf(steps, setup))).replaceAll(played.home, 'HOME');
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

describe('--dry-run', () => {
  const withHosts = () => {
    mkdirSync(join(played.home, '.codex'));
    writeFileSync(join(played.home, '.codex/config.toml'), '# mine\n');
    mkdirSync(join(played.home, '.cursor'));
  };

  it.each([80, 120])('says each step within %i columns, on a machine without an engine', async (columns) => {
    withHosts();
    const text = await printed(played.context({ options: { dryRun: true } }), columns);
    for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns);
    await expect(text).toMatchFileSnapshot(`../../snapshots/terminal/setup-no-engine-${columns}.txt`);
  });

  it.each([80, 120])('says each step within %i columns, with podman and a new store', async (columns) => {
    withHosts();
    const setup = played.context({ options: { dryRun: true }, programs: ['podman', ...ALL_BUT_PODMAN] });
    const text = await printed(setup, columns);
    for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns);
    await expect(text).toMatchFileSnapshot(`../../snapshots/terminal/setup-new-store-${columns}.txt`);
  });

  it('changes no file, and asks podman nothing that would make its store', async () => {
    withHosts();
    const setup = played.context({
      options: { dryRun: true, yes: true },
      programs: ['podman', ...ALL_BUT_PODMAN],
    });
    const before = filesIn(played.home);
    const steps = await performSteps(setup, () => {});
    expect(steps.map(({ status }) => status)).not.toContain('failed');
    expect(filesIn(played.home)).toEqual(before);
    expect(readFileSync(join(played.home, '.codex/config.toml'), 'utf8')).toBe('# mine\n');
  });

  it('sends to what has failed before it names the command that does it', () => {
    const setup = played.context({ options: { dryRun: true } });
    const next = (status: 'ok' | 'failed') =>
      reportOf([{ name: 'storage', status, detail: 'podman cannot be used', seconds: 0 }], setup).next;
    expect(next('ok')).toMatch(/^Nothing was changed\. Run `/);
    expect(next('failed')).toMatch(/^Nothing was changed\. Do what is said above first\. Run `/);
  });
});

describe('a first answer', () => {
  const line = (result: object) => JSON.stringify({ jsonrpc: '2.0', id: 2, ...result });

  it('that is a failure is said in words, with the remedy of the tool', () => {
    const structuredContent = { status: 'error', error: 'The disk is full.', remedy: 'Free some.' };
    const content = [{ type: 'text', text: 'error: The disk is full.' }];
    expect(failureIn(line({ result: { content, structuredContent, isError: true } }))).toEqual({
      error: 'The disk is full',
      remedy: 'Free some.',
    });
    expect(failureIn(line({ result: { content } })).error).toBe('error: The disk is full');
    expect(failureIn(line({ error: { code: -32_603, message: 'Internal error' } })).error).toBe(
      'Internal error',
    );
    expect(failureIn(line({ result: {} })).error).toContain('"id":2');
  });
});

describe('an engine', () => {
  it.each([
    [
      'ID=debian\nVERSION_ID="12"',
      'sudo apt-get install --no-install-recommends -y podman uidmap runc slirp4netns fuse-overlayfs catatonit dbus-user-session mmdebstrap',
    ],
    [
      'ID=debian\nVERSION_ID="13"',
      'sudo apt-get install --no-install-recommends -y podman uidmap runc passt fuse-overlayfs catatonit dbus-user-session mmdebstrap',
    ],
    [
      'ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="22"',
      'sudo apt-get install --no-install-recommends -y podman uidmap runc slirp4netns fuse-overlayfs catatonit dbus-user-session mmdebstrap',
    ],
    [
      'ID=fedora\nVERSION_ID=42',
      'sudo dnf install -y podman shadow-utils crun passt fuse-overlayfs catatonit',
    ],
    [
      'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"',
      'sudo dnf install -y podman shadow-utils crun slirp4netns fuse-overlayfs catatonit',
    ],
    ['ID=arch', 'sudo pacman -S --needed --noconfirm podman shadow crun passt fuse-overlayfs catatonit'],
    [
      'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"',
      'sudo zypper --non-interactive install podman shadow runc slirp4netns fuse-overlayfs catatonit',
    ],
    [
      'ID=alpine\nVERSION_ID=3.22.1',
      'sudo apk add podman shadow shadow-subids crun slirp4netns fuse-overlayfs catatonit',
    ],
  ])('that is missing is named with the command of the system: %j', async (osRelease, command) => {
    const result = await engineStep.perform(played.context({ osRelease }));
    expect(result.status).toBe('failed');
    expect(result.commands).toContain(command);
    expect(result.remedy).toContain('--yes');
  });

  it.each([
    ['darwin', ['brew install podman', 'podman machine init', 'podman machine start']],
    ['win32', ['winget install --exact --id RedHat.Podman', 'podman machine init', 'podman machine start']],
  ] as const)('that is missing is named with the commands of %s', async (platform, commands) => {
    const result = await engineStep.perform(played.context({ platform, osRelease: '' }));
    expect(result).toMatchObject({ status: 'failed', commands });
  });

  it('that is missing on an unknown system is named without a command', async () => {
    const result = await engineStep.perform(played.context({ osRelease: 'ID=plan9' }));
    expect(result).toMatchObject({ status: 'failed', remedy: expect.stringContaining('Install podman') });
    expect(result.commands).toBeUndefined();
  });

  it('that is there without what it needs is given that and no more', async () => {
    const setup = played.context({ programs: ['podman', 'crun'], machine: { hasBothCgroups: true } });
    const { status, detail, commands } = await engineStep.perform(setup);
    expect(status).toBe('failed');
    expect(detail).toBe('podman 4.3.1 is here without newuidmap and newgidmap and a runtime such as runc');
    expect(commands).toEqual([
      'sudo apt-get update',
      'sudo apt-get install --no-install-recommends -y uidmap runc',
    ]);
  });

  it('is installed with --yes as root, and how it is taken back is said', async () => {
    const log = join(played.home, 'apt.log');
    vi.stubEnv('PATH', `${played.bin}:/usr/bin:/bin`);
    played.program(
      'apt-get',
      `echo "$@" >> '${log}'; cat > '${played.bin}/podman' <<'P'\n#!/bin/sh\necho podman version 5.4.2\nP\nchmod +x '${played.bin}/podman'`,
    );
    const setup = played.context({ options: { yes: true }, machine: { isRoot: true } });
    const result = await engineStep.perform(setup);
    expect(result.status).toBe('done');
    expect(result.detail).toContain('podman 5.4.2 installed');
    expect(readFileSync(log, 'utf8').split('\n')).toEqual([
      'update',
      'install --no-install-recommends -y podman runc passt fuse-overlayfs catatonit dbus-user-session mmdebstrap',
      '',
    ]);
    expect(result.undo).toEqual([
      'apt-get remove -y podman runc passt fuse-overlayfs catatonit dbus-user-session mmdebstrap',
    ]);
  });

  it('is not installed where sudo wants a password that nobody can type', async () => {
    vi.stubEnv('PATH', `${played.bin}:/usr/bin:/bin`);
    played.program('sudo', 'exit 1');
    const result = await engineStep.perform(played.context({ options: { yes: true } }));
    expect(result).toMatchObject({ status: 'failed', remedy: 'Run as root:' });
  });

  it.each([
    ['5.12.19', false],
    ['5.13.0-30-generic', true],
    ['6.1.0-18-amd64', true],
    ['4.18.0-553.el8.x86_64', false],
  ])('on Linux %s mounts overlay for a user: %s', (kernel, expected) => {
    expect(mountsOverlay(kernel)).toBe(expected);
  });
});

describe('ids', () => {
  it('that are missing are named with the exact command', async () => {
    const setup = played.context({ machine: { idsIn: () => 0 } });
    const { status, detail, commands } = await idsStep.perform(setup);
    expect([status, detail]).toEqual(['failed', 'fewer than 65536 in /etc/subuid and /etc/subgid']);
    expect(commands).toHaveLength(1);
    expect(commands?.[0]).toMatch(/^sudo usermod --add-subuids (\d+-\d+) --add-subgids \1 me$/);
  });

  it('are given above all that are given away', () => {
    expect(freeRange(['', ''])).toBe('100000-165535');
    expect(freeRange(['a:100000:65536\n', 'a:100000:65536\nb:165536:65536\n'])).toBe('231072-296607');
  });

  it('are nothing that root needs', async () => {
    const setup = played.context({ machine: { isRoot: true, idsIn: () => 0 } });
    expect((await idsStep.perform(setup)).status).toBe('skipped');
  });
});

describe('storage', () => {
  const programs = ['podman', ...ALL_BUT_PODMAN];
  const withPodman = (more: Parameters<PlayedSetup['context']>[0] = {}) => {
    const setup = played.context({ programs, ...more });
    setup.found.engine = 'podman';
    return setup;
  };

  it('of a new store is overlay, and a second time nothing is changed', async () => {
    const first = await storageStep.perform(withPodman());
    expect(first).toMatchObject({ status: 'done', undo: [`rm ${played.confFile}`] });
    expect(played.conf()).toBe('[storage]\ndriver = "overlay"\n');
    expect(await storageStep.perform(withPodman())).toMatchObject({ status: 'ok', detail: 'overlay' });
  });

  it('of an old kernel is overlay by fuse-overlayfs', async () => {
    const setup = withPodman({ programs: [...programs, 'fuse-overlayfs'], machine: { kernel: '5.10.0' } });
    expect((await storageStep.perform(setup)).status).toBe('done');
    expect(played.conf()).toContain(`mount_program = "${join(played.bin, 'fuse-overlayfs')}"`);
  });

  it('where overlay is refused stays as podman takes it, and no file is left', async () => {
    const setup = withPodman();
    played.podman({ refuses: 'overlay' });
    const result = await storageStep.perform(setup);
    expect(result).toMatchObject({ status: 'ok', detail: 'vfs' });
    expect(result.warnings?.[0]?.detail).toContain('overlay is refused');
    expect(played.conf()).toBeUndefined();
  });

  it('of an existing store is never changed; what a change costs is said, with the commands', async () => {
    mkdirSync(played.storeDir, { recursive: true });
    const { status, warnings, commands } = await storageStep.perform(withPodman({ options: { yes: true } }));
    expect(status).toBe('ok');
    expect(warnings?.[0]?.detail).toContain('2 images and no containers');
    expect(commands).toEqual([
      'podman system reset --force',
      `mkdir -p ${dirname(played.confFile)}/`,
      `printf '[storage]\\ndriver = "overlay"\\n' > ${played.confFile}`,
    ]);
    expect(played.conf()).toBeUndefined();
  });

  it('that the user has decided about is left as it is', async () => {
    mkdirSync(dirname(played.confFile), { recursive: true });
    writeFileSync(played.confFile, '[storage]\ndriver = "vfs"\n');
    await storageStep.perform(withPodman());
    expect(played.conf()).toBe('[storage]\ndriver = "vfs"\n');
  });
});

describe('the command line', () => {
  const cli = (...args: string[]) =>
    commandLine(['setup', ...args], {
      folder: played.home,
      env: { HOME: played.home, PATH: played.bin, MCP_BRIDGE_STATE_DIR: join(played.home, 'state') },
    });

  it.each([
    [['--host', 'codexx'], "There is no host 'codexx'. Did you mean 'codex'?"],
    [['--host', 'codex', '--no-register'], '--host and --no-register contradict each other.'],
    [['--yess'], "unknown option '--yess'"],
  ])('%j is refused with exit code 2, and nothing is changed', async (args, complaint) => {
    const before = filesIn(played.home);
    const { stdout, stderr, exitCode } = await cli(...args);
    expect([stdout, exitCode]).toEqual(['', 2]);
    expect(stderr).toContain(complaint);
    expect(filesIn(played.home)).toEqual(before);
  });

  it('in a pipe without an engine asks nothing, says the next step, and exits with 1', async () => {
    const { stdout, exitCode } = await cli();
    expect(exitCode).toBe(1);
    expect(stdout).toContain('There is no container engine yet');
    expect(stdout).toContain("waits until 'engine' is fixed");
    expect(existsSync(join(played.home, '.config'))).toBe(false);
  });

  it('--json is one document with every step', async () => {
    const { stdout, stderr, exitCode } = await cli('--json');
    const report = JSON.parse(stdout) as { steps: { name: string; status: string }[] };
    expect(report).toMatchObject({ works: false, changed: false, dryRun: false, undo: [] });
    expect(report.steps.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'engine failed',
      ...['ids', 'storage', 'choices', 'image', 'answer', 'walls', 'hosts', 'servers'].map(
        (name) => `${name} skipped`,
      ),
    ]);
    expect([stderr, exitCode]).toEqual(['', 1]);
  });
});

describe('approvals', () => {
  const registered = async (approve?: 'off' | 'destructive') => {
    const setup = played.context({
      programs: ['podman'],
      options: { host: ['codex'], yes: true, ...(approve === undefined ? {} : { approve }) },
    });
    await choicesStep.perform(setup);
    await hostsStep.perform(setup);
    return readFileSync(join(played.home, '.codex/config.toml'), 'utf8');
  };

  it('are registered where the user asks for them, with trust in the servers that the user has chosen', async () => {
    const file = await registered('destructive');
    expect(file).toContain('MCP_BRIDGE_APPROVE = "destructive"');
    expect(file).toContain('MCP_BRIDGE_APPROVE_TRUST = "*"');
  });

  it('are registered by default, as --yes has all answers by default', async () => {
    expect(await registered()).toBe(await registered('destructive'));
  });

  it('are off where the user switches them off', async () => {
    expect(await registered('off')).not.toContain('APPROVE');
  });
});
