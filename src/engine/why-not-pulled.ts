// What an engine says of a pull that has failed, without what it says on the way there: tries, and warnings about them.

/**
 * From its last line that begins with `Error` on; all of it where there is none. podman 4.3 says `Error: …`, and docker 28.2
 * `Error response from daemon: …`.
 */
export function whyNotPulled(stderr: string): string {
  const lines = stderr.trim().split('\n');
  const last = lines.findLastIndex((line) => line.startsWith('Error'));
  return lines.slice(Math.max(0, last)).join('\n').trim();
}
