// Which versions of the suite are run, for which revisions of the protocol. The released version knows those of 2025; what
// comes before the next release knows 2026-07-28 too, and the extensions.

const RELEASED = '0.1.16';
const NEXT = '0.2.0-alpha.12';

export const VERSIONS = [RELEASED, NEXT];
export const SIDES = ['server', 'client'];

/** The revisions that the table has a column for; scenarios of an extension stand beside them. */
const REVISIONS = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
const EXTENSION = 'extension';

/** A scenario is tried in the newest revision of 2025 that it is for, and in 2026-07-28. */
const newestOf2025 = (versions) => REVISIONS.findLast((one) => one < '2026' && versions.includes(one));

const runsOf = (side) => [
  ...REVISIONS.slice(0, 3).flatMap((revision) =>
    [RELEASED, NEXT].map((version) => ({
      side,
      version,
      revision,
      isFor: ({ versions }) => newestOf2025(versions) === revision,
      isSuite: true,
      arguments: ['--spec-version', revision],
    })),
  ),
  {
    side,
    version: NEXT,
    revision: '2026-07-28',
    isFor: ({ versions }) => versions.includes('2026-07-28'),
    isSuite: true,
    arguments: ['--spec-version', '2026-07-28'],
  },
  {
    side,
    version: NEXT,
    revision: EXTENSION,
    isFor: ({ versions }) => versions.includes(EXTENSION),
    isSuite: false,
    arguments: [],
  },
];

/**
 * Each is { side, version, revision, isFor, isSuite, arguments }. `isFor` says whether it has the scenario; `isSuite`, whether
 * the suite itself knows all of its scenarios by the arguments.
 */
export const RUNS = SIDES.flatMap(runsOf);
