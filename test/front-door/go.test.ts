// Go through the front door: compiled and run in the real sandbox, with what the image has compiled ahead, which no run
// can change. Skipped where nobody has built the image.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imageOf, isBuilt } from '../support/built-image.js';
import { startBridge, type TestBridge } from '../support/start-bridge.js';

const title = isBuilt('go')
  ? 'Go'
  : `Go (skipped: no ${imageOf('go')}; \`mcp-sandbox-bridge image build go\` makes it)`;

const program = (imports: string, body: string, beside = ''): string =>
  `package main\n\nimport (${imports})\n\n${beside}\nfunc main() {\n${body}\n}\n`;
const file = (filename: string, content: string) => ({ filename, content });

describe.runIf(isBuilt('go'))(title, () => {
  let bridge: TestBridge;
  beforeAll(async () => {
    bridge = await startBridge({}, { env: { MCP_BRIDGE_TOOLS: 'execute_code' } });
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  async function execute(
    code: string,
    more: object = {},
  ): Promise<{ readonly text: string; readonly failed: boolean }> {
    const args = { language: 'go', entrypoint_code: code, ...more };
    const result = (await bridge.client.callTool({
      name: 'execute_code',
      arguments: args,
    })) as CallToolResult;
    const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    return { text, failed: result.isError === true };
  }

  it('finds its files, arguments, input and packages, and gives back its exit status', async () => {
    const code = program(
      '_ "embed"; "fmt"; "io"; "os"; "main/shout"',
      `in, _ := io.ReadAll(os.Stdin)
       read, err := os.ReadFile("data/a.txt")
       fmt.Println(shout.Loud(embedded), string(in), string(read), err, os.Args[1:], largest([]int{1, 3, 2}))
       fmt.Fprintln(os.Stderr, helper())
       os.Exit(3)`,
      `//go:embed data/a.txt
       var embedded string
       func largest[T int | float64](all []T) (most T) { for i := range len(all) { most = max(most, all[i]) }; return }`,
    );
    const { text, failed } = await execute(code, {
      additional_files: [
        file('data/a.txt', 'datum'),
        file('shout/shout.go', 'package shout\n\nimport "strings"\n\nvar Loud = strings.ToUpper\n'),
        file('helper.go', 'package main\n\nfunc helper() string { return "helped" }\n'),
        file('main_test.go', 'package main\n\nimport "testing"\n\nfunc TestNothing(t *testing.T) {}\n'),
      ],
      stdin: 'typed',
      args: ['a b', '--flag'],
    });
    expect(text).toContain('DATUM typed datum <nil> [a b --flag] 3');
    expect(text).toContain('helped');
    expect(text).toContain('exit status 3');
    expect(failed).toBe(true);
  });

  it('takes the go.mod of the call, a folder for the entry file, and a module beside it', async () => {
    const code = program('"fmt"; "example.com/app/util"; "example.com/lib"', 'fmt.Println(util.X + lib.X)');
    const { text } = await execute(code, {
      entrypoint_filename: 'cmd/app/start.go',
      additional_files: [
        file(
          'go.mod',
          'module example.com/app\n\ngo 1.21.0\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib\n',
        ),
        file('util/util.go', 'package util\n\nconst X = 40\n'),
        file('lib/go.mod', 'module example.com/lib\n'),
        file('lib/lib.go', 'package lib\n\nconst X = 2\n'),
      ],
    });
    expect(text).toContain('\n42\n');
  });

  it('says where the compiler objects, and what of a panic', async () => {
    const wrong = await execute(program('"fmt"; "os"', '\tx := 1\n\tfmt.Println("a" + 1)'));
    expect(wrong.failed).toBe(true);
    expect(wrong.text).toContain('./main.go:3:16: "os" imported and not used');
    expect(wrong.text).toContain('./main.go:7:2: declared and not used: x');
    expect(wrong.text).toContain('./main.go:8:14: invalid operation');
    const panicked = await execute(
      program('"fmt"', 'fmt.Println("before")\nat(nil)', 'func at(all []int) int { return all[3] }'),
    );
    expect(panicked.text).toContain('before');
    expect(panicked.text).toMatch(
      /panic: runtime error: index out of range \[3\] with length 0\n\ngoroutine 1 \[running\]:/,
    );
    expect(panicked.text).toContain('/workspace/main.go:5');
    expect(panicked.text).toContain('exit status 2');
  });

  it('says at once of a package from elsewhere that it cannot be had', async () => {
    const { text } = await execute(program('"github.com/foo/bar"', 'bar.X()'));
    expect(text).toContain(
      'main.go:3:9: cannot find module providing package github.com/foo/bar: module lookup disabled by GOPROXY=off',
    );
  });

  it('compiles no more than the program itself, and lets no run change what is compiled', async () => {
    // Writes, removes and replaces what it can; says what it could.
    const vandal = program(
      '"fmt"; "os"; "path/filepath"',
      `cache := os.Getenv("GOCACHE")
       entries, _ := filepath.Glob(cache + "/00/*")
       fmt.Println("entries", len(entries) > 0)
       for _, path := range append(entries, cache, cache + "/00", cache + "/trim.txt") {
         if os.Remove(path) == nil || os.Chmod(path, 0o777) == nil || os.Rename(path, path + "x") == nil {
           if filepath.Base(path) != "trim.txt" { fmt.Println("changed", path) }
         }
         if os.WriteFile(filepath.Join(path, "new"), nil, 0o644) == nil { fmt.Println("wrote", path) }
         if filepath.Base(path) != "trim.txt" && os.WriteFile(path, nil, 0o644) == nil { fmt.Println("emptied", path) }
       }
       os.WriteFile("/build/left", nil, 0o644)
       os.MkdirAll("/build/cache/go-build", 0o755)`,
    );
    expect((await execute(vandal)).text).not.toMatch(/changed|wrote|emptied/);
    const watcher = program(
      '"fmt"; "net/http"; "os"; "os/exec"; "strings"',
      `said, err := exec.Command("go", "build", "-x", "-o", "/build/again", ".").CombinedOutput()
       _, left := os.Stat("/build/left")
       fmt.Println(http.StatusText(200), strings.Count(string(said), "/compile -o"), err, os.IsNotExist(left))
       if err != nil { os.Stderr.Write(said) }`,
    );
    expect((await execute(watcher)).text).toContain('OK 1 <nil> true');
  });

  it('makes a program of one file without the go command, which says of itself what it would say otherwise', async () => {
    const about = `_, err := os.Stat(os.Getenv("GOCACHE") + "/alone/plan.json")
       id, _ := exec.Command(runtime.GOROOT() + "/pkg/tool/linux_" + runtime.GOARCH + "/buildid", "/build/main").Output()
       info, _ := debug.ReadBuildInfo()
       // Only the go command gives what it builds an id.
       fmt.Println(err == nil, len(strings.TrimSpace(string(id))) > 0)
       fmt.Println(strings.ReplaceAll(info.String(), "\\n", ";"))`;
    const code = program('"fmt"; "os"; "os/exec"; "runtime"; "runtime/debug"; "strings"', about);
    const [alone, built] = await Promise.all([
      execute(code),
      execute(code, { additional_files: [file('more.go', 'package main\n')] }),
    ]);
    const [, saysHow, hasId] = /(true|false) (true|false)/.exec(alone.text) ?? [];
    // An image that was built before it could say how has every program built by the go command.
    expect(hasId).toBe(String(saysHow !== 'true'));
    expect(built.text).toContain(`${saysHow} true`);
    const facts = ({ text }: { readonly text: string }) => /^go\t?.*path\tmain;.*$/m.exec(text)?.[0];
    expect(facts(alone)).toMatch(/-ldflags=-w/);
    expect(facts(alone)).toBe(facts(built));
  });

  it('builds side by side, each in its own place', async () => {
    const numbers = [1, 2, 3, 4, 5, 6];
    const answers = await Promise.all(
      numbers.map((number) => execute(program('"fmt"', `fmt.Println("number", ${number})`))),
    );
    for (const [index, { text }] of answers.entries()) expect(text).toContain(`number ${numbers[index]}\n`);
  });
});
