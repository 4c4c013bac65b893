// The engines that there are: a driver for each, and nowhere else a list of them. Their names and the variables of their
// clients are in settings/environment/variables.ts, which is below.

import { basename } from 'node:path';
import { cliDriver } from './client/cli-driver.js';
import type { EngineConnection, EngineDriver, EngineMachine, EngineName, MachineOptions } from './engine.js';
import { kubernetes } from './kubernetes/driver.js';
import { needsMachine, PodmanMachine } from './machine/podman-machine.js';
import { Templates } from './template/templates.js';

const podman = cliDriver('podman', {
  programs: undefined,
  openOther: (parts) => new Templates(parts),
  // An engine at an address of its own is started and stopped by others.
  machine: ({ url, platform }, options) =>
    needsMachine(platform) && url === undefined ? new PodmanMachine(options) : undefined,
});

/** Drivers in the order in which they are tried. */
const DRIVERS: Readonly<Record<EngineName, EngineDriver>> = {
  podman,
  docker: cliDriver('docker', { programs: /docker/ }),
  kubernetes,
};

/** Programs that are tried where nobody has named an engine. */
export const automaticEngines: readonly EngineName[] = ['podman', 'docker'];

/** The driver for a program, by the program's name. */
export const driverOf = (binary: string): EngineDriver =>
  Object.values(DRIVERS).find(({ programs }) => programs?.test(basename(binary))) ?? podman;

/** The machine of the engine that is tried first, where it is the bridge's to start; undefined where none is needed. */
export function machineOf(
  runtime: string | undefined,
  connection: EngineConnection,
  options: Omit<MachineOptions, 'binary'>,
): EngineMachine | undefined {
  const binary = runtime ?? podman.name;
  return driverOf(binary).machine?.(connection, { binary, ...options });
}
