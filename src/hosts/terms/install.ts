// How the bridge is registered in a host and what `adopt` knows of its entries, with what most hosts have in common. Pure.

import { PROGRAM } from './dialect.js';

/** The command line and the variables that a host starts us with. */
export type HostLaunch = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

export type HostInstall = {
  /** By which name a person asks for the host; also that of its file in the bridge's own folder. */
  readonly id: string;
  /** Names under which its program is found on PATH. */
  readonly programs: readonly string[];
  /** Files or folders that only this host makes; without any, the folder of its file is one. */
  readonly signs?: readonly string[];
  /** Started from a desktop, with a PATH that has little more than the system's programs. */
  readonly isDesktop: boolean;
  /** An entry of ours in this host's words. */
  readonly entry: (launch: HostLaunch) => Record<string, unknown>;
  /** An entry of ours for a file in the form that the host had before. */
  readonly earlierEntry?: (launch: HostLaunch) => Record<string, unknown>;
  readonly adopt: Adoptable;
};

/** Facts about a host that must be known before a server is moved out of it. Its rules for single tools stand in rules/. */
export type Adoptable = {
  /**
   * Fields of its entries that adopt understands. An entry with any other stays where it is: a field of tomorrow, such as one
   * that confines a server, would otherwise be lost with nobody noticing.
   */
  readonly fields: readonly string[];
  /** Whether the servers that it starts, and so the bridge, get all variables of its own environment. */
  readonly handsOnVariables: boolean;
  /** Decisions of the host that nobody can read; undefined where its files say all. */
  readonly unseen?: string;
};

export const withEnv = (env: HostLaunch['env'], name = 'env') =>
  Object.keys(env).length === 0 ? {} : { [name]: env };
export const plainEntry = ({ command, args, env }: HostLaunch) => ({ command, args, ...withEnv(env) });
export const typedEntry = (launch: HostLaunch) => ({ type: 'stdio', ...plainEntry(launch) });

export const PROGRAM_FIELDS: readonly string[] = Object.values(PROGRAM);
export const REMOTE_FIELDS: readonly string[] = ['url', 'headers'];

export const unseenInWindows = (host: string): string =>
  `${host} keeps which tools are switched off or approved in its own database, which cannot be read. If you have switched tools off there, name them in the list of the file below.`;
