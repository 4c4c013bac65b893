/** Resolves with the port of the loopback that leads to `host` and `port` there, until it is closed. */
export function openWay(
  host: string,
  port: number,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }>;
