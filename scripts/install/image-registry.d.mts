// Types of image-registry.mjs, which has the words.

export function startImageRegistry(
  layout: string,
): Promise<{ readonly address: string; readonly asked: readonly string[]; readonly close: () => void }>;
export function registriesConf(address: string): string;
export function useImageRegistry(home: string, address: string): void;
