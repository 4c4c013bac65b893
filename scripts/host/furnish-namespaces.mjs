// Makes a furnished Debian the machine that gives podman no user namespace: its user may be root, and the kernel starts the
// job itself. systemd would have an emulated machine busy for minutes, with a hundred AppArmor profiles for programs that
// are not there among them, and who refuses a namespace does not ask whether it runs. Writes files below a folder.

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JOB_DIR, NAMESPACE_PROGRAM, NAMESPACES, REPORT_TTY, USER } from './suites.mjs';

const { name, id, home } = USER;
const RUN = `/run/user/${id}`;

const INIT = `#!/bin/sh
export PATH=${JOB_DIR}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t securityfs security /sys/kernel/security
mount -t cgroup2 cgroup /sys/fs/cgroup
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
for dir in /dev/shm /run /tmp; do mount -t tmpfs tmpfs $dir; done
chmod 1777 /tmp /dev/shm
mount --make-rshared /
hostname host
mount -o ro /dev/vdb ${JOB_DIR}
mkdir -p ${RUN}
chown ${id}:${id} ${RUN} /dev/${REPORT_TTY}
cd ${home}
setpriv --reuid ${id} --regid ${id} --init-groups env HOME=${home} USER=${name} XDG_RUNTIME_DIR=${RUN} \\
  ${JOB_DIR}/bin/node ${NAMESPACE_PROGRAM} /dev/${REPORT_TTY} ${JOB_DIR} > /dev/console 2>&1
sync
echo o > /proc/sysrq-trigger
exec sleep 60
`;

export function furnishNamespaces(root) {
  writeFileSync(join(root, 'etc/sudoers.d/job'), `${name} ALL=(ALL) NOPASSWD: ALL\n`);
  const init = join(root, NAMESPACES.init);
  writeFileSync(init, INIT);
  chmodSync(init, 0o755);
}
