// Units of size, in bytes. What people read as MB or MiB is 1024 KB, here and everywhere.

export const KB_BYTES = 1024;
export const MB_BYTES = 1024 ** 2;

/** `3.4 MB`. */
export const inMegabytes = (bytes: number): string =>
  `${(bytes / MB_BYTES).toFixed(bytes < 10 * MB_BYTES ? 1 : 0)} MB`;
