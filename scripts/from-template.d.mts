export declare const PRINT_STARTER: string;
