export function killNode(name: string): Promise<void>;
export function killApiServer(): Promise<void>;
export function restartApiServer(): Promise<void>;
export const cutOff: (node: string, address: string) => () => void;
export const killPod: (uid: string) => number;
export const slowEtcd: (pauseMs: number, everyMs: number) => () => void;
