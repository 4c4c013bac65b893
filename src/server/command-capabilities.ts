// What `execute` can do, in the words of the capabilities resource. The same for both ways in which it is done.

/** A section of Markdown. */
export const aboutCommands = `\`execute\` runs one command in an isolated machine: \`command\` is a program's name or path, \`args\` its arguments, handed on
as they are; there is no shell unless the command is one (\`sh\`, \`["-c", "a | b"]\`). \`stdin\`, \`timeout_ms\`, \`cwd\` and \`env\`
are optional. Files in /work stay for later commands; everything else may be gone. The answer has stdout, then stderr
under its own head; \`[exit status 3]\`, a signal or a timeout comes first. Of long output head and tail are shown.`;
