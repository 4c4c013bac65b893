// The same attacks in every language, each by its own means, a program without an end, and one that prints its variables
// WORD and PATH. A line tells of each attack whether it got through. Used by languages.test.ts.

type Programs = Readonly<Record<'attacks' | 'endless' | 'variables', string>>;

/** In the order in which every program tries them; the last two are no attacks and must succeed. */
const ATTACKS = [
  ...[
    'write /probe',
    'write /ipc/probe',
    'write /usr/probe',
    'write /etc/probe',
    'write /proc/sys/kernel/core_pattern',
  ],
  ...['run /tmp/probe', 'run /workspace/probe', 'run /dev/shm/probe'],
  ...['be root', 'reach 1.1.1.1', 'find the canary', 'see others', 'read shadow', 'end the first process'],
];
const HARMLESS = ['write /tmp/probe', 'run /bin/true'];
/** The lines that each prints. */
export const EXPECTED = [
  ...ATTACKS.map((attack) => `${attack}: held`),
  ...HARMLESS.map((deed) => `${deed}: through`),
];

const javascript = `
const fs = require('fs'), { execFileSync } = require('child_process'), net = require('net');
const pids = () => fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name));
const copied = (path) => { fs.copyFileSync('/bin/true', path); fs.chmodSync(path, 0o755); return path; };
const need = (is) => { if (!is) throw new Error('held'); };
const tell = (name, got) => console.log(name + ': ' + (got ? 'through' : 'held'));
const tried = (name, deed) => { let got = false; try { deed(); got = true; } catch {} tell(name, got); };
for (const path of ['/probe', '/ipc/probe', '/usr/probe', '/etc/probe', '/proc/sys/kernel/core_pattern'])
  tried('write ' + path, () => fs.writeFileSync(path, ''));
for (const place of ['/tmp', '/workspace', '/dev/shm'])
  tried('run ' + place + '/probe', () => execFileSync(copied(place + '/probe')));
tried('be root', () => process.setuid(0));
const socket = net.connect({ host: '1.1.1.1', port: 53, timeout: 2000 });
const rest = (got) => {
  socket.destroy();
  tell('reach 1.1.1.1', got);
  tried('find the canary', () => need(pids().some((pid) => fs.readFileSync('/proc/' + pid + '/environ').includes('canary'))));
  tried('see others', () => need(pids().length > 4));
  tried('read shadow', () => fs.readFileSync('/etc/shadow'));
  try { process.kill(1, 9); } catch {}
  tried('end the first process', () => need(!fs.existsSync('/proc/1')));
  tried('write /tmp/probe', () => fs.writeFileSync('/tmp/probe', ''));
  tried('run /bin/true', () => execFileSync('/bin/true'));
};
socket.on('connect', () => rest(true)).on('timeout', () => rest(false)).on('error', () => rest(false));
`;

/** By language. */
export const PROGRAMS: Readonly<Record<string, Programs>> = {
  python: {
    attacks: `
import os, shutil, socket, subprocess
def tried(name, deed):
    try: got = deed() is not False
    except (OSError, subprocess.SubprocessError): got = False
    print(f"{name}: {'through' if got else 'held'}")
pids = lambda: [name for name in os.listdir("/proc") if name.isdigit()]
def copied(path): shutil.copy("/bin/true", path); os.chmod(path, 0o755); return path
for path in ("/probe", "/ipc/probe", "/usr/probe", "/etc/probe", "/proc/sys/kernel/core_pattern"): tried(f"write {path}", lambda: open(path, "w"))
for place in ("/tmp", "/workspace", "/dev/shm"): tried(f"run {place}/probe", lambda: subprocess.run([copied(f"{place}/probe")]))
tried("be root", lambda: os.setuid(0))
tried("reach 1.1.1.1", lambda: socket.create_connection(("1.1.1.1", 53), 2))
tried("find the canary", lambda: any(b"canary" in open(f"/proc/{pid}/environ", "rb").read() for pid in pids()))
tried("see others", lambda: len(pids()) > 4)
tried("read shadow", lambda: open("/etc/shadow"))
os.kill(1, 9)
tried("end the first process", lambda: not os.path.exists("/proc/1"))
tried("write /tmp/probe", lambda: open("/tmp/probe", "w"))
tried("run /bin/true", lambda: subprocess.run(["/bin/true"]))
`,
    endless:
      'import signal\nfor number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\nwhile True: pass',
    variables: 'import os\nprint(os.environ["WORD"], os.environ["PATH"])',
  },
  javascript: {
    attacks: javascript,
    endless: 'process.on("SIGTERM", () => {});\nfor (;;);',
    variables: 'console.log(process.env.WORD, process.env.PATH);',
  },
  typescript: {
    attacks: javascript.replace('= (name, got)', '= (name: string, got: boolean)'),
    endless: 'const more: boolean = true;\nwhile (more);',
    variables:
      'const word: string = await Promise.resolve(process.env.WORD!);\nconsole.log(word, process.env.PATH);',
  },
  go: {
    attacks: `package main
import ("bytes"; "fmt"; "net"; "os"; "os/exec"; "path/filepath"; "syscall"; "time")
func tell(name string, got bool) { fmt.Printf("%s: %s\\n", name, map[bool]string{true: "through", false: "held"}[got]) }
func main() {
	write := func(path string) { _, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644); tell("write "+path, err == nil) }
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range []string{"/probe", "/ipc/probe", "/usr/probe", "/etc/probe", "/proc/sys/kernel/core_pattern"} { write(path) }
	program, _ := os.ReadFile("/bin/true")
	for _, place := range []string{"/tmp", "/workspace", "/dev/shm"} {
		os.WriteFile(place+"/probe", program, 0o755)
		tell("run "+place+"/probe", exec.Command(place+"/probe").Run() == nil)
	}
	tell("be root", syscall.Setuid(0) == nil)
	_, err := net.DialTimeout("tcp", "1.1.1.1:53", 2*time.Second)
	tell("reach 1.1.1.1", err == nil)
	found := false
	for _, pid := range pids { environ, _ := os.ReadFile(pid + "/environ"); found = found || bytes.Contains(environ, []byte("canary")) }
	tell("find the canary", found)
	tell("see others", len(pids) > 4)
	_, err = os.ReadFile("/etc/shadow")
	tell("read shadow", err == nil)
	syscall.Kill(1, syscall.SIGKILL)
	_, err = os.Stat("/proc/1")
	tell("end the first process", err != nil)
	write("/tmp/probe")
	tell("run /bin/true", exec.Command("/bin/true").Run() == nil)
}`,
    endless: 'package main\n\nfunc main() {\n\tfor {\n\t}\n}\n',
    variables:
      'package main\n\nimport ("fmt"; "os")\n\nfunc main() { fmt.Println(os.Getenv("WORD"), os.Getenv("PATH")) }\n',
  },
  bash: {
    attacks: `
tried() { if (eval "$2") >/dev/null 2>&1; then echo "$1: through"; else echo "$1: held"; fi; }
for path in /probe /ipc/probe /usr/probe /etc/probe /proc/sys/kernel/core_pattern; do tried "write $path" ": > $path"; done
for place in /tmp /workspace /dev/shm; do tried "run $place/probe" "cp /bin/true $place/probe && chmod 755 $place/probe && $place/probe"; done
tried 'be root' 'python3 -c "import os; os.setuid(0)"'
tried 'reach 1.1.1.1' 'timeout 2 bash -c ": < /dev/tcp/1.1.1.1/53"'
tried 'find the canary' 'cat /proc/[0-9]*/environ | grep -q canary'
# The subshell and what it starts count as well.
tried 'see others' 'pids=(/proc/[0-9]*); ((\${#pids[@]} > 6))'
tried 'read shadow' 'cat /etc/shadow'
kill -9 1
tried 'end the first process' '[ ! -e /proc/1 ]'
tried 'write /tmp/probe' ': > /tmp/probe'
tried 'run /bin/true' /bin/true
`,
    endless: 'trap "" TERM INT HUP\nwhile :; do :; done',
    variables: 'echo "$WORD $PATH"',
  },
  ruby: {
    attacks: `
require "fileutils"
require "socket"
def tried(name)
  got = begin yield != false; rescue SystemCallError, SocketError; false; end
  puts "#{name}: #{got ? 'through' : 'held'}"
end
pids = -> { Dir.children("/proc").grep(/^[0-9]+$/) }
%w[/probe /ipc/probe /usr/probe /etc/probe /proc/sys/kernel/core_pattern].each { |path| tried("write #{path}") { File.write(path, "") } }
%w[/tmp /workspace /dev/shm].each do |place|
  tried("run #{place}/probe") { FileUtils.cp("/bin/true", "#{place}/probe"); File.chmod(0o755, "#{place}/probe"); system("#{place}/probe", exception: true) }
end
tried("be root") { Process::Sys.setuid(0) }
tried("reach 1.1.1.1") { Socket.tcp("1.1.1.1", 53, connect_timeout: 2) }
tried("find the canary") { pids.call.any? { |pid| File.binread("/proc/#{pid}/environ").include?("canary") } }
tried("see others") { pids.call.size > 4 }
tried("read shadow") { File.read("/etc/shadow") }
Process.kill(9, 1)
tried("end the first process") { !File.exist?("/proc/1") }
tried("write /tmp/probe") { File.write("/tmp/probe", "") }
tried("run /bin/true") { system("/bin/true", exception: true) }
`,
    endless: 'trap("TERM") {}\nloop {}',
    variables: 'puts ENV.values_at("WORD", "PATH").join(" ")',
  },
};

/** Long enough in the compiler to be met there. */
export const LONG_TO_COMPILE = [
  'package main',
  ...Array.from(
    { length: 3_000 },
    (_, n) =>
      `func f${n}(m map[string]int) (all int) { for k, v := range m { all += v*${n} + len(k) }; return }`,
  ),
  'func main() {}',
].join('\n');
