// compose.code-exec.yaml as an argument vector of podman, so that what operators are given is what is tested and measured.
// Says so where the file has a word that it does not know: nothing in it goes unnoticed. Runs nothing.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const FILE = new URL('../compose.code-exec.yaml', import.meta.url);
const REFERENCE = /\$\{(?<name>\w+)(?::(?<mark>[-?])(?<rest>[^}]*))?\}/g;

/** Each key of the service as podman's flags; what only compose itself minds is none. */
const FLAGS = {
  environment: (values) => Object.entries(values).map(([name, value]) => `--env=${name}=${value}`),
  network_mode: (mode) => [`--network=${mode}`],
  ports: (ports) => ports.map((port) => `--publish=${port}`),
  user: (user) => [`--user=${user}`],
  cap_drop: (names) => names.map((name) => `--cap-drop=${name}`),
  security_opt: (options) => options.map((option) => `--security-opt=${option.replace(':true', '')}`),
  tmpfs: (places) => places.map((place) => `--tmpfs=${place}`),
  cpus: (cpus) => [`--cpus=${cpus}`],
  mem_limit: (memory) => [`--memory=${memory}`],
  pids_limit: (pids) => [`--pids-limit=${pids}`],
  stop_grace_period: (time) => [`--stop-timeout=${Number.parseInt(time, 10)}`],
  // podman's list is without compose's first word, CMD.
  healthcheck: ({ test: [, ...test] }) => [
    `--health-cmd=${JSON.stringify(test)}`,
    '--health-interval=disable',
  ],
  pull_policy: (policy) => [`--pull=${policy}`],
  // The engine's own affair: nobody restarts what a test ends, and podman's default log is asked for its end only.
  restart: () => [],
  logging: () => [],
};

/** `env` stands for the operator's. Throws where it lacks what the file demands. */
export function composeService(env) {
  const replaced = (text) =>
    text.replace(REFERENCE, (_all, name, mark, rest = '') => {
      const value = env[name] || undefined;
      if (value === undefined && mark === '?') throw new Error(`${name}: ${rest}`);
      return value ?? rest;
    });
  // As compose does it: in values, once they are parsed.
  const { services, volumes } = parse(readFileSync(FILE, 'utf8'), (_key, value) =>
    typeof value === 'string' ? replaced(value) : value,
  );
  const [[name, service], ...others] = Object.entries(services);
  if (others.length > 0) throw new Error('compose.code-exec.yaml has more than one service');
  return { name, service, volumes: Object.keys(volumes) };
}

/** What follows `podman run --detach`; volumes are named with `prefix`. */
export function podmanArgs({ service, volumes }, prefix) {
  const { runtime: _runtime, image, volumes: mounts, ...rest } = service;
  const flags = Object.entries(rest).flatMap(([key, value]) => {
    if (!Object.hasOwn(FLAGS, key)) throw new Error(`compose.code-exec.yaml: '${key}' is not known here`);
    return FLAGS[key](value);
  });
  for (const mount of mounts)
    if (!volumes.includes(mount.split(':')[0]))
      throw new Error(`compose.code-exec.yaml: '${mount}' is no volume`);
  return [...flags, ...mounts.map((mount) => `--volume=${prefix}${mount}`), image];
}
