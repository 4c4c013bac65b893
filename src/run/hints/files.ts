// Exceptions of the file system: it is read-only but for a few places, nothing in those can be executed, and the
// user's own files are not in it.

import { during, errno, type Hint, STARTS_SOMETHING, says, writablePlaces } from './hint.js';

/** Refused where the path begins so. */
const denied = (path: string) => errno(13, ` .*['"](${path}[^'"]*)['"]`);
const SCRATCH = '/(?:workspace|tmp|dev/shm)/';
/** The working directory is one of those. */
const IN_SCRATCH = `(?:${SCRATCH}|[^/'"])`;

/** Homes, mounts, URLs, other people's systems. */
const HOST_PATH = ` .*['"](?:file:|~|/(?:home|Users|root|mnt|media|Volumes)/|[A-Za-z]:[\\\\/])`;

export const fileHints: readonly Hint[] = [
  {
    about: 'read-only file system',
    matches: errno(30),
    sentence: (walls) => `Only ${writablePlaces(walls)} can be written to; the rest is read-only.`,
  },
  {
    about: 'read-only database',
    matches: says(/unable to open database file|attempt to write a readonly database/, /^sqlite3\./),
    sentence: (walls) => `Only ${writablePlaces(walls)} can be written to: keep the database there.`,
  },
  {
    about: 'execution',
    matches: during(STARTS_SOMETHING, denied(IN_SCRATCH)),
    sentence: (walls) =>
      `Nothing in ${writablePlaces(walls)} can be executed: run a script by its interpreter, as in ["python3", "x.py"] or ["sh", "x.sh"].`,
  },
  {
    about: 'a native library',
    matches: says(/failed to map segment from shared object/),
    sentence: (walls) => `Nothing in ${writablePlaces(walls)} can be loaded as a native library.`,
  },
  {
    about: 'a place that belongs to others',
    matches: denied(`(?!${SCRATCH})/`),
    sentence: (walls) => `The code is not root here; it can write to ${writablePlaces(walls)} alone.`,
  },
  {
    about: 'privileges',
    matches: errno(1),
    sentence: () =>
      'The code has no privileges here: it cannot change owners, mount, open raw sockets or trace processes.',
  },
  {
    about: 'out/ from elsewhere',
    matches: errno(2, ` .*['"](?:\\./)?out/[^/'"]*['"]`),
    sentence: () =>
      'out/ is the folder /workspace/out. Name it so where the code has changed its directory: in a session it stays where os.chdir has left it.',
  },
  {
    about: "the user's files",
    matches: errno(2, HOST_PATH),
    sentence: () =>
      "The user's files are not in the sandbox: pass them in run_python's `files`, or read them with a server's tool.",
  },
];
