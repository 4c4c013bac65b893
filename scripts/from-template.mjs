// How code shows whether its sandbox was started from a template: below the root of one that was lies a folder that is named
// relative to the template's own.

/** Python that prints `template` in a sandbox from a template, and `engine` in one that the engine's client has started. */
export const PRINT_STARTER = `
line = next(line for line in open('/proc/self/mountinfo') if line.split()[4] == '/')
print('template' if ':.' in line.rsplit('lowerdir=', 1)[-1].split(',')[0] else 'engine')`;
