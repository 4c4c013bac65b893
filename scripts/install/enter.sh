#!/bin/sh
# The first process of a machine for newcomers, in namespaces of its own for mounts, processes and IPC: makes its root of an
# unpacked Debian, which nobody can write to, with a home and a Node from outside. Usage: enter.sh ROOT HOME NODE, in which
# HOME is the folder that becomes the user's home. Says `ready` and then stays until it is killed.
#
# The root is pivoted into, not changed by chroot: the kernel lets nobody in a chroot make a user namespace, which rootless
# containers are made of.
set -e
root=$1 home=$2 node=$3
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mount --bind "$home" home/newcomer
mount --bind "$node" opt/node
mount --bind /etc/resolv.conf etc/resolv.conf
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty fuse; do
  [ -e "/dev/$device" ] || continue
  : >"dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=1777 tmpfs var/tmp
# As a session of the user's would find it.
mkdir -p run/user/1000
chown 1000:1000 run/user/1000
chmod 700 run/user/1000
mount -o remount,bind,ro .
pivot_root . .old
cd /
umount -l /.old
mount --make-rshared /
echo ready
# Takes over processes whose parent has ended, as the first process of a machine does.
exec /usr/bin/catatonit -P
