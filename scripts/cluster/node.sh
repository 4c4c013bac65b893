#!/bin/bash
# The first process of a node: everything of the node ends with it. It runs in a network, a mount, a pid and a uts namespace of
# the node's own. Arguments: the node's name, its address, its folder on this machine, and a kubeconfig for each of its programs.
set -euo pipefail
name=$1 address=$2 folder=$3 kubelet_config=$4 proxy_config=$5 router_config=$6 log=$7
shift 7

mount --make-rprivate /
mount -t proc proc /proc
# Folders that node programs share with no other node, nor with this machine.
for place in /var/lib/kubelet /var/lib/containerd /run/containerd /var/log/pods /var/log/containers /run/netns /var/lib/cni; do
  mkdir -p "$place" "$folder/disk$place"
  mount --bind "$folder/disk$place" "$place"
done
# The kubelet ends where the kernel does not have these values. It finds them here, and the machine keeps its own.
while read -r key value; do
  file=$folder/sysctl-${key//\//-}
  echo "$value" >"$file"
  mount --bind "$file" "/proc/sys/$key"
done <<'VALUES'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
VALUES
mount --make-rshared /
hostname "$name"

containerd --config "$folder/containerd.toml" >"$log/$name-containerd.log" 2>&1 &
for _ in $(seq 600); do
  ctr version >/dev/null 2>&1 && break
  sleep 0.1
done
for archive in "$@"; do ctr --namespace k8s.io images import "$archive"; done >"$log/$name-images.log" 2>&1
kubelet --config="$folder/kubelet.json" --kubeconfig="$kubelet_config" --hostname-override="$name" --node-ip="$address" \
  >"$log/$name-kubelet.log" 2>&1 &
# Connection tracking is left as the machine has it.
kube-proxy --kubeconfig="$proxy_config" --hostname-override="$name" --cluster-cidr="$PODS" --proxy-mode=iptables \
  --conntrack-max-per-core=0 --conntrack-min=0 >"$log/$name-proxy.log" 2>&1 &
# Each of them writes whole tables of rules, and would take away those that the other one has just begun.
for _ in $(seq 600); do
  iptables --table nat --numeric --list KUBE-SERVICES 2>/dev/null | grep -q default/kubernetes && break
  sleep 0.1
done
# It ends where the API server does not have the node's address yet.
while :; do
  NODE_NAME=$name kube-router --kubeconfig="$router_config" --hostname-override="$name" --run-firewall=true --run-router=false \
    --run-service-proxy=false --run-loadbalancer=false --enable-ipv6=false --service-cluster-ip-range="$SERVICES" \
    --iptables-sync-period=30s --health-port=0 -v=1 || sleep 1
done >"$log/$name-router.log" 2>&1 &
while :; do wait -n || sleep 1; done
