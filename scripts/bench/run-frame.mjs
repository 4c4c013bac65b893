// The frame that starts a run with one server of one tool, as the bridge would send it. No type checks it here: a test
// compares it with the types of the wire.

/** @type {import('../../dist/wire/frames.js').HostFrame} */
export const RUN = {
  type: 'run',
  timeoutSeconds: 30,
  loaded: [
    {
      name: 'host',
      alias: 'host',
      description: '',
      version: null,
      instructions: null,
      tools: [
        {
          name: 'nothing',
          alias: 'nothing',
          description: '',
          inputSchema: { type: 'object' },
          outputSchema: null,
          observed: null,
          changed: null,
        },
      ],
    },
  ],
  discovered: [{ name: 'host', alias: 'host', description: '', loaded: true, tools: 1 }],
  files: [],
  program: null,
};
