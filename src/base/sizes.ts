// Units of size, in bytes. What people read as MB or MiB is 1024 KB, here and everywhere.

export const KB_BYTES = 1024;
export const MB_BYTES = 1024 ** 2;
