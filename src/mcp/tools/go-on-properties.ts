// How `wait` and `stop` stand in the schemas of tools. Apart from what reads them, which is loaded when a tool is first called.

export const GO_ON_PROPERTIES = {
  wait: { type: 'string', description: 'Handle of a long run: its rest' },
  stop: { type: 'string', description: 'Likewise: ends it' },
};
