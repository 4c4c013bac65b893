export function killNode(name: string): Promise<void>;
export function killApiServer(): Promise<void>;
export function restartApiServer(): Promise<void>;
