export declare const NODE_START: string;
export declare const COLD_SANDBOX: string;
export declare function measureUnits(options?: { readonly withSandbox?: boolean }): void;
