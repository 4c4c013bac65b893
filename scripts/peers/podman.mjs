// The engine's own command line with the bridge's own flags: what a careful user would write, without a bridge.

/** @type {import('./place.mjs').Peer} */
export const podman = {
  name: 'podman',
  title: 'podman run, our flags',
  version: "the engine's own client",
  walls: "the same container, by the bridge's own flags",
  lacks: 'call tools from the code',
  install: async () => {},
  open: async ({ bare }) => ({
    jobs: {
      hello: async () => {
        await bare.run();
        return 'hello';
      },
    },
    close: async () => {},
  }),
};
