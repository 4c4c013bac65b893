// What is demanded where the kernel gives podman no user namespace. Pure.

import { check } from './judge.mjs';
import { SITUATIONS } from './namespace-situations.mjs';

/** By step, in the order in which they are made. */
export const NAMESPACE_JUDGES = {
  machine: ({ mediates }) => [
    check('AppArmor of this kernel mediates user namespaces', mediates.includes('userns_create'), mediates),
  ],
  ...Object.fromEntries(
    SITUATIONS.map(({ name, names }) => [
      name,
      ({ podman, engine, setup, first, followed, after }) => [
        check(`${name}: podman is refused`, /cannot clone/.test(podman), podman),
        ...Object.entries({ doctor: engine, setup, 'the first call': first }).map(([who, said]) =>
          check(
            `${name}: ${who} names the cause and the remedy`,
            names.every((words) => JSON.stringify(said ?? '').includes(words)),
            JSON.stringify(said),
          ),
        ),
        check(
          `${name}: nobody is told to turn AppArmor's switch off`,
          !/restrict_unprivileged_userns=0|aa-teardown|apparmor=0/.test(
            JSON.stringify([engine, setup, first]),
          ),
          engine.remedy,
        ),
        check(
          `${name}: the remedy lets podman in`,
          after?.status === 'ok',
          `${JSON.stringify(followed)}: ${after?.detail}`,
        ),
      ],
    ]),
  ),
  end: () => [],
};

/** What the machine printed, for people. */
export const namespaceWords = (lines) =>
  SITUATIONS.flatMap(({ name }) => {
    const value = lines.find(({ step }) => step === name)?.value;
    if (value === undefined) return [];
    return [
      `${name}: podman: ${value.podman.trim().split('\n').join(' / ')}`,
      `${name}: doctor: ${value.engine.detail} ${value.engine.remedy}`,
      `${name}: followed: ${value.followed.command}; then: ${value.after?.detail}`,
    ];
  });
