#!/usr/bin/env bash
# The first process of what stands for another machine: started in a mount and a pid namespace of its own, it covers all
# that is not part of the system with empty folders, adds one account, says `ready` and waits for the end of its input.
# With it every process and every mount of the namespaces ends. Nothing of it is seen outside but the shared folder.
# Usage: furnish.sh SHARED_FOLDER UID FIRST_SUB_ID STORE_MB
set -euo pipefail
shared=$1 id=$2 first_sub_id=$3 store_mb=$4

cover() { mount -t tmpfs -o "mode=${2:-755}" tmpfs "$1"; }

for folder in /*; do
  if [ ! -d "$folder" ] || [ -L "$folder" ]; then continue; fi
  case $folder in
    # /run is covered last, since the one folder that is seen from both sides is below it.
    /bin | /sbin | /lib* | /usr | /etc | /proc | /sys | /dev | /run) ;;
    /tmp) cover /tmp 1777 ;;
    *) cover "$folder" ;;
  esac
done
cover /dev/shm 1777
install -d -m 1777 /var/tmp
mkdir -p /var/lib /var/log /var/cache /var/held /var/etc
ln -s /run /var/run

mount --bind "$shared" /var/held
cover /run
mkdir -p "$shared"
mount --move /var/held "$shared"

cp -a /etc/. /var/etc
rm -f /var/etc/shadow* /var/etc/gshadow* /var/etc/ssh/ssh_host_*
echo "engine:*:$id:$id::/home/engine:/bin/bash" >>/var/etc/passwd
echo "engine:*:$id:" >>/var/etc/group
echo "engine:$first_sub_id:65536" | tee /var/etc/subuid >/var/etc/subgid
mount --bind /var/etc /etc

# podman warns where a mount made later would not be seen by what it has already started.
mount --make-rshared /
install -d -m 755 /run/user
install -d -m 700 -o "$id" -g "$id" "/run/user/$id"
install -d /home/engine
mount -t tmpfs -o "size=${store_mb}m,mode=711,uid=$id,gid=$id" tmpfs /home/engine

echo ready
# Whoever started this is gone when there is nothing more to read, however it went.
cat >/dev/null
