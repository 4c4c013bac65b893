// Makes an unpacked Debian the machine of one user: the user with a lingering session and podman's socket, an sshd, the
// second disk, and a service that does the job on it, where it has one, and then ends the machine. Writes files below a
// folder; runs nothing.

import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ADDRESS, JOB_DIR, JOB_PROGRAM, KEYS_FILE, REPORT_TTY, USER } from './suites.mjs';

/** The service leaves it when it has ended, however it did. */
const END = '/var/tmp/job-ended';

const JOB_SERVICE = `[Unit]
Description=The job
RequiresMountsFor=${JOB_DIR}
After=dbus.socket
ConditionPathExists=${JOB_PROGRAM}

[Service]
Type=oneshot
WorkingDirectory=%h
Environment=PATH=${JOB_DIR}/app/node_modules/.bin:${JOB_DIR}/bin:/usr/local/bin:/usr/bin:/bin
ExecStart=${JOB_DIR}/bin/node ${JOB_PROGRAM} /dev/${REPORT_TTY} ${JOB_DIR}
ExecStopPost=/bin/touch ${END}
TimeoutStartSec=infinity

[Install]
WantedBy=default.target
`;

const END_PATH = `[Unit]
Description=The end of the job

[Path]
PathExists=${END}
Unit=poweroff.target

[Install]
WantedBy=multi-user.target
`;

/** A card is there only in a machine that a bridge outside uses. There is no gateway, since nothing outside is reached. */
const NETWORK = `[Match]
Type=ether

[Network]
Address=${ADDRESS}/24
LinkLocalAddressing=no
`;

/**
 * The keys are on the second disk, so that they can be made for each run while the first disk is kept. A session for each
 * connection would cost an emulated machine seconds, hence no PAM.
 */
const SSHD = `AuthorizedKeysFile ${KEYS_FILE}
UseDNS no
UsePAM no
`;

/** Without hardware's help a start of the service takes seconds, which each command would pay anew. */
const ENGINE_STAYS = `[Service]
ExecStart=
ExecStart=/usr/bin/podman system service --time=0
`;

/** Timers of the system that would only take time from the job. */
const SILENCED = [
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'e2scrub_all.timer',
  'fstrim.timer',
  'man-db.timer',
];

export function furnishRoot(root) {
  const { name, id, home, firstSubId, subIds } = USER;
  const path = (file) => join(root, file);
  const write = (file, text) => {
    mkdirSync(dirname(path(file)), { recursive: true });
    writeFileSync(path(file), text);
  };
  appendFileSync(path('etc/passwd'), `${name}:x:${id}:${id}::${home}:/bin/bash\n`);
  appendFileSync(path('etc/shadow'), `${name}:*:19000:0:99999:7:::\n`);
  appendFileSync(path('etc/group'), `${name}:x:${id}:\n`);
  for (const file of ['etc/subuid', 'etc/subgid']) write(file, `${name}:${firstSubId}:${subIds}\n`);
  write(`var/lib/systemd/linger/${name}`, '');

  write('etc/hostname', 'host\n');
  write('etc/machine-id', `${randomBytes(16).toString('hex')}\n`);
  write('etc/fstab', `LABEL=job ${JOB_DIR} ext4 ro 0 0\n`);
  mkdirSync(path(JOB_DIR));
  mkdirSync(path('dev'), { recursive: true });
  write('etc/udev/rules.d/90-report.rules', `KERNEL=="${REPORT_TTY}", OWNER="${name}"\n`);
  write('etc/systemd/system/job-ended.path', END_PATH);
  enable(path('etc/systemd/system'), 'multi-user.target', '../job-ended.path');
  for (const unit of SILENCED) symlinkSync('/dev/null', path(`etc/systemd/system/${unit}`));

  write('etc/systemd/network/10-card.network', NETWORK);
  enable(path('etc/systemd/system'), 'multi-user.target', '/usr/lib/systemd/system/systemd-networkd.service');
  write('etc/ssh/sshd_config.d/keys.conf', SSHD);

  const units = join(home, '.config/systemd/user');
  write(`${units}/job.service`, JOB_SERVICE);
  enable(path(units), 'default.target', '../job.service');
  write(`${units}/podman.service.d/stays.conf`, ENGINE_STAYS);
  enable(path(units), 'sockets.target', '/usr/lib/systemd/user/podman.socket');
  // What scripts/setup writes for a user: podman 4.3 takes vfs where nothing is said.
  write(`${home}/.config/containers/storage.conf`, '[storage]\ndriver = "overlay"\n');
  takeOwnership(path(home), id);
}

function enable(folder, target, unit) {
  const wants = join(folder, `${target}.wants`);
  mkdirSync(wants, { recursive: true });
  symlinkSync(unit, join(wants, unit.split('/').at(-1)));
}

function takeOwnership(file, id) {
  const isLink = lstatSync(file).isSymbolicLink();
  if (isLink) return;
  chownSync(file, id, id);
  if (lstatSync(file).isDirectory())
    for (const name of readdirSync(file)) takeOwnership(join(file, name), id);
}
