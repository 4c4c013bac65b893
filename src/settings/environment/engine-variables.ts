// The variables by which the engines' own clients find their engine.

/** By engine: the one that takes an address, and those that would say otherwise. */
export const ENGINE_VARIABLES = {
  podman: { address: 'CONTAINER_HOST', others: ['CONTAINER_CONNECTION'] },
  docker: { address: 'DOCKER_HOST', others: ['DOCKER_CONTEXT'] },
} as const;
