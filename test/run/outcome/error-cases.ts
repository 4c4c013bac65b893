// What code written for a terminal, a notebook or a network meets in the sandbox: the error as CPython says it, and the
// next step that the answer adds. The unit test asks the table of hints, the front-door test runs the code.

import { VERSION } from '../../../src/base/version.js';
import type { HintSpec } from '../../../src/run/hints/hint.js';

export type ErrorCase = {
  /** The row of the table that speaks. */
  readonly about: string;
  /** Undefined for what only other images, other engines or patience can show. */
  readonly code?: string;
  /** `Type: message`, as in an answer. */
  readonly error: string;
  /** The line that raised, where the row looks at it. */
  readonly line?: string;
  readonly remedy: string;
};

const MB = 1024 ** 2;

/** Those of a sandbox with the default settings and the image that is built here. */
export const WALLS: HintSpec = {
  image: `localhost/mcp-sandbox-bridge/python:${VERSION}`,
  network: 'none',
  memoryBytes: 512 * MB,
  pids: 128,
  tmpfs: [
    { target: '/tmp', sizeMb: 64, executable: false },
    { target: '/workspace', sizeMb: 128, executable: false },
  ],
  data: [{ source: '/not/here', target: '/data', isWritable: false, identity: '', volume: undefined }],
  shmMb: 16,
  ulimits: [
    { name: 'nofile', limit: 1024 },
    { name: 'fsize', limit: 128 * MB },
  ],
};

const MEMORY =
  'The memory limit is 512 MB. Use less memory: process the data in pieces, and delete what is no longer needed. (MCP_BRIDGE_MEMORY sets the limit.)';
const PROCESSES =
  'At most 128 processes and threads may exist at once: use fewer workers, or asyncio. (MCP_BRIDGE_PIDS sets the limit.)';
const NETWORK =
  'The sandbox has no network. Use a server\'s tool: runtime.search_tool_docs("...") finds one.';
const LOCALHOST =
  "Nothing listens there: localhost is the sandbox itself, not the user's machine, and it has no network. Use a server's tool.";
const DATA = 'The user can set MCP_BRIDGE_IMAGE=data for numpy, pandas, scipy, matplotlib, PIL, openpyxl.';
const NO_INSTALLING = `Nothing can be installed here: there is no network. Do without: use the standard library or a server's tool. ${DATA} For other packages the user can run \`mcp-sandbox-bridge image build data --pip <name>\`.`;
const NO_MODULE = `Nothing can be installed here: use the standard library or a server's tool. ${DATA}`;
const SEABORN = `${NO_MODULE} For seaborn the user can run \`mcp-sandbox-bridge image build data --with python3-seaborn\` and set MCP_BRIDGE_IMAGE=data-with_python3-seaborn.`;
const PYARROW = `${NO_MODULE} For pyarrow the user can run \`mcp-sandbox-bridge image build data --pip pyarrow\` and set MCP_BRIDGE_IMAGE=data-pip_pyarrow.`;
const NOT_CONFIGURED =
  "No server of that name is configured: runtime.discovered_servers() lists them; name one in the call's `servers`.";
const READ_ONLY = 'Only /tmp, /workspace and /dev/shm can be written to; the rest is read-only.';
const NO_EXECUTION =
  'Nothing in /tmp, /workspace and /dev/shm can be executed: run a script by its interpreter, as in ["python3", "x.py"] or ["sh", "x.sh"].';
const NO_SDK =
  '`mcp` is not the MCP SDK here: it has mcp.runtime, mcp.servers.<alias> and MCPError. Call tools without a client: await mcp_<alias>.<tool>(...).';
const PRIVILEGES =
  'The code has no privileges here: it cannot change owners, mount, open raw sockets or trace processes.';
const FILES =
  "The user's files are not in the sandbox: pass them in run_python's `files`, or read them with a server's tool.";
const ASYNC_DEF =
  'Define the function that awaits with `async def`, and `await` each call of it. At the top level, `await` works as it is.';
const AWAIT = 'A tool call has to be awaited: value = await mcp_<alias>.<tool>(...).';
const LOOP = 'An event loop is running already: `await` the coroutine at the top level instead.';
const MAGIC =
  'Lines with ! and % are IPython\'s, and this is plain Python without a shell prompt. List files with os.listdir("."), start a program with subprocess.run(["ls", "-la"]).';
const ARGUMENTS = 'Arguments are JSON: text, numbers, booleans, None, lists and dicts. Pass';

const limits: readonly ErrorCase[] = [
  { about: 'memory', code: 'x = bytearray(10**12)', error: 'MemoryError', remedy: MEMORY },
  {
    about: 'memory',
    error:
      'numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 GiB for an array with shape (1024, 1024, 1024) and data type float64',
    remedy: MEMORY,
  },
  {
    about: 'memory that the kernel refuses',
    code: 'import mmap\nmmap.mmap(-1, 10**13)',
    error: 'OSError: [Errno 12] Cannot allocate memory',
    remedy: MEMORY,
  },
  {
    about: 'threads',
    code: 'import threading, time\nfor _ in range(1000): threading.Thread(target=time.sleep, args=(5,), daemon=True).start()',
    error: "RuntimeError: can't start new thread",
    remedy: PROCESSES,
  },
  {
    about: 'processes',
    code: 'import os, time\nfor _ in range(1000):\n    if os.fork() == 0:\n        time.sleep(5); os._exit(0)',
    error: 'BlockingIOError: [Errno 11] Resource temporarily unavailable',
    line: '    if os.fork() == 0:',
    remedy: PROCESSES,
  },
  {
    about: 'disk',
    code: 'for name in "ab": open(f"/workspace/{name}", "wb").write(bytes(10**8))',
    error: 'OSError: [Errno 28] No space left on device',
    remedy:
      'Files lie in memory here: /tmp holds 64 MB, /workspace holds 128 MB, /dev/shm holds 16 MB. Delete files that are no longer needed, or write less.',
  },
  {
    about: 'open files',
    code: 'x = [open("/dev/null") for _ in range(5000)]',
    error: "OSError: [Errno 24] Too many open files: '/dev/null'",
    remedy: 'At most 1024 files and sockets may be open at once: close them, as `with open(...)` does.',
  },
  {
    about: 'size of a file',
    code: 'open("/workspace/x", "wb").truncate(10**11)',
    error: 'OSError: [Errno 27] File too large',
    remedy: 'A file may have at most 128 MB: write several files, or less.',
  },
  {
    about: 'recursion',
    code: 'def f(): f()\nf()',
    error: 'RecursionError: maximum recursion depth exceeded',
    remedy: 'The recursion is too deep or has no end: add a condition that ends it, or use a loop.',
  },
];

const files: readonly ErrorCase[] = [
  {
    about: 'read-only file system',
    code: 'open("/etc/new", "w")',
    error: "OSError: [Errno 30] Read-only file system: '/etc/new'",
    remedy: READ_ONLY,
  },
  {
    about: 'read-only file system',
    code: 'import os; os.mkdir("/data")',
    error: "OSError: [Errno 30] Read-only file system: '/data'",
    remedy: READ_ONLY,
  },
  {
    about: 'read-only database',
    code: 'import sqlite3; sqlite3.connect("/data.db").execute("create table t(x)")',
    error: 'sqlite3.OperationalError: unable to open database file',
    remedy: 'Only /tmp, /workspace and /dev/shm can be written to: keep the database there.',
  },
  {
    about: 'execution',
    code: 'import os, subprocess\nopen("/tmp/x", "w").write("#!/bin/sh"); os.chmod("/tmp/x", 0o755)\nsubprocess.run(["/tmp/x"])',
    error: "PermissionError: [Errno 13] Permission denied: '/tmp/x'",
    line: '    subprocess.run(["/tmp/x"])',
    remedy: NO_EXECUTION,
  },
  {
    about: 'execution',
    code: 'import subprocess\nopen("x.sh", "w").write("echo hi")\nsubprocess.run(["./x.sh"])',
    error: "PermissionError: [Errno 13] Permission denied: './x.sh'",
    line: '    subprocess.run(["./x.sh"])',
    remedy: NO_EXECUTION,
  },
  {
    about: 'a native library',
    code: 'import ctypes, glob, shutil\nshutil.copy(glob.glob("/usr/lib/*/libm.so*")[0], "/tmp/libm.so")\nctypes.CDLL("/tmp/libm.so")',
    error: 'OSError: /tmp/libm.so: failed to map segment from shared object',
    remedy: 'Nothing in /tmp, /workspace and /dev/shm can be loaded as a native library.',
  },
  {
    about: 'a data folder',
    error: "PermissionError: [Errno 13] Permission denied: '/data/x.csv'",
    remedy:
      'Code can read in /data what every user of the machine may read. It can write and execute nothing there: write to /tmp, /workspace and /dev/shm.',
  },
  {
    about: 'a place that belongs to others',
    code: 'open("/root/x", "w")',
    error: "PermissionError: [Errno 13] Permission denied: '/root/x'",
    remedy: 'The code is not root here; it can write only to /tmp, /workspace and /dev/shm.',
  },
  {
    about: 'privileges',
    code: 'import os; open("a", "w").close(); os.chown("a", 0, 0)',
    error: "PermissionError: [Errno 1] Operation not permitted: 'a'",
    remedy: PRIVILEGES,
  },
  {
    about: 'privileges',
    code: 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)',
    error: 'PermissionError: [Errno 1] Operation not permitted',
    remedy: PRIVILEGES,
  },
  {
    about: 'out/ from elsewhere',
    code: 'import os; os.chdir("/tmp"); open("out/x.csv", "w")',
    error: "FileNotFoundError: [Errno 2] No such file or directory: 'out/x.csv'",
    remedy:
      'out/ is the folder /workspace/out. Write that path if the code has changed its directory. A session stays in the directory of its last os.chdir.',
  },
  {
    about: "the user's files",
    code: 'open("/home/me/data.csv")',
    error: "FileNotFoundError: [Errno 2] No such file or directory: '/home/me/data.csv'",
    remedy: FILES,
  },
  {
    about: "the user's files",
    code: 'open("~/data.csv")',
    error: "FileNotFoundError: [Errno 2] No such file or directory: '~/data.csv'",
    remedy: FILES,
  },
  {
    about: "the user's files",
    code: 'open(r"C:\\Users\\me\\x.csv")',
    error: "FileNotFoundError: [Errno 2] No such file or directory: 'C:\\\\Users\\\\me\\\\x.csv'",
    remedy: FILES,
  },
];

const network: readonly ErrorCase[] = [
  {
    about: 'network',
    code: 'import urllib.request; urllib.request.urlopen("https://example.com")',
    error: 'urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>',
    remedy: NETWORK,
  },
  {
    about: 'network',
    code: 'import socket; socket.create_connection(("example.com", 80))',
    error: 'socket.gaierror: [Errno -3] Temporary failure in name resolution',
    remedy: NETWORK,
  },
  {
    about: 'network',
    code: 'import asyncio; await asyncio.open_connection("1.1.1.1", 80)',
    error: 'OSError: [Errno 101] Network is unreachable',
    remedy: NETWORK,
  },
  {
    about: 'network',
    error:
      "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='example.com', port=443): Max retries exceeded with url: / (Caused by NameResolutionError(\"<urllib3.connection.HTTPSConnection object at 0x7f>: Failed to resolve 'example.com' ([Errno -3] Temporary failure in name resolution)\"))",
    remedy: NETWORK,
  },
  {
    about: 'network',
    error: 'httpx.ConnectError: [Errno -3] Temporary failure in name resolution',
    remedy: NETWORK,
  },
  {
    about: 'network',
    error:
      'aiohttp.client_exceptions.ClientConnectorDNSError: Cannot connect to host example.com:443 ssl:default [Temporary failure in name resolution]',
    remedy: NETWORK,
  },
  {
    about: 'localhost',
    code: 'import urllib.request; urllib.request.urlopen("http://127.0.0.1:8000/")',
    error: 'urllib.error.URLError: <urlopen error [Errno 111] Connection refused>',
    remedy: LOCALHOST,
  },
  {
    about: 'localhost',
    code: 'import asyncio; await asyncio.open_connection("127.0.0.1", 80)',
    error: "ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 80)",
    remedy: LOCALHOST,
  },
];

const modules: readonly ErrorCase[] = [
  {
    about: 'a missing module',
    code: 'import pandas as pd',
    error: "ModuleNotFoundError: No module named 'pandas'",
    remedy: `This image has no pandas, and nothing can be installed here. ${DATA}`,
  },
  {
    about: 'a missing module',
    code: 'from PIL import Image',
    error: "ModuleNotFoundError: No module named 'PIL'",
    remedy: `This image has no PIL, and nothing can be installed here. ${DATA}`,
  },
  {
    about: 'a missing module',
    code: 'import requests',
    error: "ModuleNotFoundError: No module named 'requests'",
    remedy: NO_MODULE,
  },
  {
    about: 'a missing module',
    code: 'import seaborn as sns',
    error: "ModuleNotFoundError: No module named 'seaborn'",
    remedy: SEABORN,
  },
  {
    about: 'a missing module',
    code: 'import cv2',
    error: "ModuleNotFoundError: No module named 'cv2'",
    remedy: SEABORN.replace('seaborn', 'cv2').replaceAll('python3-seaborn', 'python3-opencv'),
  },
  {
    about: 'a library that is optional to another',
    code: 'raise ImportError("Missing optional dependency \'openpyxl\'.  Use pip or conda to install openpyxl.")',
    error: "ImportError: Missing optional dependency 'openpyxl'.  Use pip or conda to install openpyxl.",
    remedy: `This image has no openpyxl, and nothing can be installed here. ${DATA}`,
  },
  {
    about: 'a library that is optional to another',
    code: "raise ImportError('`Import seaborn` failed.  Use pip or conda to install the seaborn package.')",
    error: 'ImportError: `Import seaborn` failed.  Use pip or conda to install the seaborn package.',
    remedy: SEABORN,
  },
  {
    about: 'a library that is optional to another',
    code: "raise ImportError('lxml not found, please install it')",
    error: 'ImportError: lxml not found, please install it',
    remedy: SEABORN.replaceAll('seaborn', 'lxml'),
  },
  {
    about: 'a library that is optional to another',
    error:
      "ImportError: Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.\nA suitable version of pyarrow or fastparquet is required for parquet support.",
    remedy: PYARROW,
  },
  {
    about: 'a library that is optional to another',
    error:
      'ImportError: This needs a library for tables. Install it with `pip install --upgrade tabulate` and try again.',
    remedy: SEABORN.replaceAll('seaborn', 'tabulate'),
  },
  {
    about: 'an installer that is started as a module',
    code: 'import runpy; runpy.run_module("pip")',
    error: 'ImportError: No module named pip',
    remedy: NO_INSTALLING,
  },
  {
    about: 'an installer in a line of IPython or a shell',
    code: '!pip install requests\nprint(1)',
    error: 'SyntaxError: invalid syntax (main.py, line 1)',
    line: '    !pip install requests',
    remedy: NO_INSTALLING,
  },
  {
    about: 'an installer in a line of IPython or a shell',
    code: '%pip install -q seaborn',
    error: 'SyntaxError: invalid syntax (main.py, line 1)',
    line: '    %pip install -q seaborn',
    remedy: NO_INSTALLING,
  },
  {
    about: 'an installer in a line of IPython or a shell',
    code: '!{sys.executable} -m pip install seaborn',
    error: 'SyntaxError: invalid syntax (main.py, line 1)',
    line: '    !{sys.executable} -m pip install seaborn',
    remedy: NO_INSTALLING,
  },
  {
    about: 'an installer in a line of IPython or a shell',
    code: 'pip install seaborn',
    error: 'SyntaxError: invalid syntax (main.py, line 1)',
    line: '    pip install seaborn',
    remedy: NO_INSTALLING,
  },
  {
    about: 'a server as a module',
    code: 'from mcp_h import echo',
    error: "ModuleNotFoundError: No module named 'mcp_h'",
    remedy: "mcp_h is not a module: leave out the import, and name the server in the call's `servers`.",
  },
  {
    about: 'the MCP SDK',
    code: 'from mcp.client.stdio import stdio_client',
    error: "ModuleNotFoundError: No module named 'mcp.client'",
    remedy: NO_SDK,
  },
  {
    about: 'a name of the MCP SDK',
    code: 'from mcp import ClientSession',
    error: "ImportError: cannot import name 'ClientSession' from 'mcp' (/ipc/mcp/__init__.py)",
    remedy: NO_SDK,
  },
  {
    about: 'an installer as a module',
    code: 'import pip',
    error: "ModuleNotFoundError: No module named 'pip'",
    remedy: NO_INSTALLING,
  },
  {
    about: 'an installer that fails',
    code: 'import subprocess, sys\nsubprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "requests"])',
    error:
      "subprocess.CalledProcessError: Command '['/usr/bin/python3', '-m', 'pip', 'install', '-q', 'requests']' returned non-zero exit status 1.",
    remedy: NO_INSTALLING,
  },
  {
    about: 'an installer that fails',
    code: 'import subprocess\nsubprocess.run("pip --quiet install requests", shell=True, check=True)',
    error:
      "subprocess.CalledProcessError: Command 'pip --quiet install requests' returned non-zero exit status 127.",
    remedy: NO_INSTALLING,
  },
  {
    about: 'an installer that is not there',
    code: 'import subprocess\nsubprocess.run(["uv", "pip", "install", "requests"])',
    error: "FileNotFoundError: [Errno 2] No such file or directory: 'uv'",
    remedy: NO_INSTALLING,
  },
  {
    about: 'a missing program',
    code: 'import subprocess\nsubprocess.run(["git", "clone", "x"])',
    error: "FileNotFoundError: [Errno 2] No such file or directory: 'git'",
    line: '    subprocess.run(["git", "clone", "x"])',
    remedy:
      "The image has no program git; it has Python, a shell and the GNU core tools. Use those or a server's tool.",
  },
];

const asynchrony: readonly ErrorCase[] = [
  {
    about: 'await in a plain function',
    code: 'def f():\n    return await mcp_h.echo(text="x")\nf()',
    error: "SyntaxError: 'await' outside async function (main.py, line 2)",
    remedy: ASYNC_DEF,
  },
  {
    about: 'await in a plain function',
    code: 'import asyncio\ndef f():\n    async with asyncio.Lock(): pass',
    error: "SyntaxError: 'async with' outside async function (main.py, line 3)",
    remedy: ASYNC_DEF,
  },
  {
    about: 'a coroutine used as a value',
    code: 'r = mcp_h.echo(text="x")\nr["id"]',
    error: "TypeError: 'coroutine' object is not subscriptable",
    remedy: AWAIT,
  },
  {
    about: 'a coroutine used as a value',
    code: 'r = mcp_h.echo(text="x")\nr.id',
    error: "AttributeError: 'coroutine' object has no attribute 'id'",
    remedy: AWAIT,
  },
  {
    about: 'a coroutine used as a value',
    code: '"a" + mcp_h.echo(text="x")',
    error: 'TypeError: can only concatenate str (not "coroutine") to str',
    remedy: AWAIT,
  },
  {
    about: 'a coroutine used as a value',
    code: 'import json; json.dumps(mcp_h.echo(text="x"))',
    error: 'TypeError: Object of type coroutine is not JSON serializable',
    remedy: AWAIT,
  },
  {
    about: 'a loop inside a loop',
    code: 'import asyncio\nawait asyncio.sleep(0)\nasyncio.get_running_loop().run_until_complete(asyncio.sleep(0))',
    error: 'RuntimeError: This event loop is already running',
    remedy: LOOP,
  },
  {
    about: 'a loop inside a loop',
    code: 'import asyncio\nawait asyncio.sleep(0)\nasyncio.new_event_loop().run_until_complete(asyncio.sleep(0))',
    error: 'RuntimeError: Cannot run the event loop while another loop is running',
    remedy: LOOP,
  },
];

const tools: readonly ErrorCase[] = [
  {
    about: 'a tool that failed',
    code: 'await mcp_h.fail(text="title is required")',
    error: 'MCPError: h.fail: title is required',
    remedy:
      'That is the server\'s own answer. The tool\'s parameters: await runtime.query_tool_docs("h", "fail", detail="full"). To go on without it, catch MCPError.',
  },
  {
    about: 'an argument that is no JSON',
    code: 'import datetime; await mcp_h.echo_raw(when=datetime.date(2026, 1, 1))',
    error:
      "TypeError: h.echo_raw: argument 'when' cannot be sent as JSON: Object of type date is not JSON serializable",
    remedy: `${ARGUMENTS} x.isoformat() instead of the date.`,
  },
  {
    about: 'an argument that is no JSON',
    code: 'class A: pass\nawait mcp_h.echo_raw(a=A())',
    error:
      "TypeError: h.echo_raw: argument 'a' cannot be sent as JSON: Object of type A is not JSON serializable",
    remedy: `${ARGUMENTS} its parts, or str(x), instead of the A.`,
  },
  {
    about: 'a server that is not configured',
    code: 'await mcp_nowhere.echo()',
    error: "NameError: name 'mcp_nowhere' is not defined",
    remedy: NOT_CONFIGURED,
  },
];

const habits: readonly ErrorCase[] = [
  {
    about: 'a password',
    code: 'import getpass\nsecret = getpass.getpass()',
    error: 'EOFError',
    line: '    secret = getpass.getpass()',
    remedy:
      'There is no stdin and nobody to ask for a password. Use a tool of a server that has the password, or do without.',
  },
  {
    about: 'a debugger',
    code: 'total = 1\nbreakpoint()\nprint(total)',
    error: 'bdb.BdbQuit',
    line: '    breakpoint()',
    remedy:
      'There is no stdin for a debugger: breakpoint() ends the code. Print what you want to see, or use traceback and inspect.',
  },
  {
    about: 'input',
    code: 'name = input("name? ")',
    error: 'EOFError: EOF when reading a line',
    remedy: 'There is no stdin and nobody to ask: write the value into the code.',
  },
  {
    about: 'a magic',
    code: '!ls -la\nprint(1)',
    error: 'SyntaxError: invalid syntax (main.py, line 1)',
    line: '    !ls -la',
    remedy: MAGIC,
  },
  {
    about: 'a magic',
    code: '%matplotlib inline',
    error: 'SyntaxError: invalid syntax (main.py, line 1)',
    line: '    %matplotlib inline',
    remedy: MAGIC,
  },
  {
    about: 'a magic',
    code: 'files = !ls *.csv',
    error: 'SyntaxError: invalid syntax (main.py, line 1)',
    line: '    files = !ls *.csv',
    remedy: MAGIC,
  },
  {
    about: 'IPython',
    code: 'get_ipython().system("ls")',
    error: "NameError: name 'get_ipython' is not defined",
    remedy: 'This is plain Python, not a notebook: leave out get_ipython().',
  },
];

export const ERROR_CASES: readonly ErrorCase[] = [
  ...limits,
  ...files,
  ...network,
  ...modules,
  ...asynchrony,
  ...tools,
  ...habits,
];
