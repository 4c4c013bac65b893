// The parts that a start chooses from, each loaded when it is wanted. The bundler puts bundled-parts.ts in the place of this.

export const serving = () => import('./serving/serve.js');
export const windows = () => import('./windows/start-relay.js');
export const commands = () => import('./program.js');
export const failing = () => import('./terminal/output.js');

/** Where the program is bundled, later starts find compiled what this one has compiled. */
export const keepCompiled = (): void => {};
