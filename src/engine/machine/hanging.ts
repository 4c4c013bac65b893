// The remedy for an engine or an OCI runtime that neither works nor fails. Installing another one seldom helps: mostly a
// process waits in the kernel, or for a lock that such a process holds.

/** One sentence for whoever has to find out; `command` is what to try by hand. */
export const hangingRemedy = (command: string, isElsewhere: boolean): string =>
  isElsewhere
    ? `Run \`${command}\` by hand: if it hangs too, the machine where the engine runs sleeps, is out of reach or is overloaded, so look there; the engine's own client, or MCP_BRIDGE_ENGINE_URL, says which machine that is.`
    : hangingHere(command);

const hangingHere = (command: string): string =>
  `Run \`${command}\` by hand: if it hangs too, look for the engine's and the runtime's processes that do not end (\`ps -eo pid,stat,wchan:30,args | grep -E 'podman|docker|conmon|crun|runc|runsc'\`); one in state D waits in the kernel, and \`dmesg\` or a restart of the machine says more.`;

export const inSeconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
