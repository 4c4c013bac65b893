// The engines that can be named, and the variables by which their own clients find them. Each has a driver in engine/engines.ts.

/** By engine: the one that takes an address, and those that would say otherwise. */
export const ENGINE_VARIABLES = {
  podman: { address: 'CONTAINER_HOST', others: ['CONTAINER_CONNECTION'] },
  docker: { address: 'DOCKER_HOST', others: ['DOCKER_CONTEXT'] },
} as const;

export const engineNames = Object.keys(ENGINE_VARIABLES);
