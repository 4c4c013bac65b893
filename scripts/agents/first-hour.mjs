// The first hour of a user who has had the host for long: `setup` at a terminal, a call of a server that it has moved, a call that
// the user allows in the host's own dialog, `restore`, `uninstall --all`; and then the whole home beside what it was before. What the
// host itself writes is known from the same home in which the same host was used without us. Findings as in judge.mjs.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MAIN, npmServer } from '../bench/stage.mjs';
import { foreignLines, snapshotOf, toldApart } from './home-files.mjs';
import { ownStore } from './own-store.mjs';
import { Session } from './session.mjs';
import { atTerminal } from './terminal.mjs';

const ENTER = '\r';
const RIGHT = '\u001b[C';
const DOWN = '\u001b[B';
const PROMPT = 'Use the tool.';
const SETUP_MS = 10 * 60_000;
const REMOVAL_MS = 120_000;
const WORDS_CHARS = 300;

/** What the host says at the end of a turn, which is the stand-in's last answer (model.mjs). */
const DONE = 'Done.';
/** Questions of `setup`, each answered as Enter does. */
const SETUP_QUESTIONS = [
  'Charts and pandas too?',
  'Add the bridge to these hosts?',
  'Ask me before a tool',
  'Start your 2 servers once',
  'Move 2 servers with',
];
/** Folders that any program may use by the time: they stay, empty (uninstall-all.ts). */
const SYSTEM_FOLDERS = ['.local', '.local/state'];
/** A line of the user's own in the file of one server, in that server's format. */
const KNOWN = '{"type":"entity","name":"Ann","entityType":"person","observations":["drinks tea"]}';
/** Of a moved server and in no prompt of ours. */
const MOVED_TOOL = 'delete_entities';

const servers = (/** @type {string} */ home) => ({
  memory: {
    ...npmServer('server-memory'),
    env: { MEMORY_FILE_PATH: join(home, 'notes/memory.jsonl') },
  },
  // A host that names its project lets this server see no other folder.
  files: npmServer('server-filesystem', join(home, 'project')),
});

const reading = (/** @type {string} */ home) => ({
  code: `await mcp_memory.create_entities(entities=[{"name": "tea", "entityType": "drink", "observations": []}])
here = await mcp_files.list_directory(path="${home}/project")
graph = await mcp_memory.read_graph()
print(here, graph)`,
  servers: ['memory', 'files'],
});
const DELETION = { code: `await mcp_memory.${MOVED_TOOL}(entityNames=["tea"])`, servers: ['memory'] };

/**
 * The hosts of this trial. `files` are what their users have, below the home; `screen` starts a session at a terminal; `opens`, `allows`
 * and `leaves` are what a person presses there for the prompt, for both calls and for the end (terminal.mjs). `notes` are what the
 * host itself writes of a server like ours, and of none in the control.
 * @type {Record<string, any>}
 */
export const NEWCOMERS = {
  'claude-code': {
    // Odd on purpose: our edits must not make it neat.
    files: (/** @type {{ home: string, project: string }} */ { home, project }) => ({
      '.claude.json': `{\n   "hasCompletedOnboarding" : true, "theme":"dark",\n\t"customApiKeyResponses": {"approved": ["not-a-key"], "rejected": []},\n   "projects": {${JSON.stringify(project)}: {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},\n   "mcpServers": ${JSON.stringify(servers(home))}  }\n`,
      '.claude/CLAUDE.md': 'I drink tea.\n',
    }),
    screen: () => ['--allowedTools', 'mcp__sandbox__run_python'],
    // It takes a prompt before its servers are there.
    opens: [
      ['shift+tab to cycle', PROMPT],
      [PROMPT, ENTER],
    ],
    allows: [
      ['requests your input', RIGHT],
      ['Yes, this once', ENTER],
      ['Type something', DOWN],
      ['not set', ENTER],
    ],
    leaves: [[DONE, `/exit${ENTER}`]],
    // Which servers speak the later protocol.
    notes: ['.claude/state', '.claude/state/mcp-discover-verdicts.json'],
  },

  codex: {
    files: (/** @type {{ home: string, project: string }} */ { home, project }) => ({
      '.codex/config.toml': `# what I use most\nmodel   =  "gpt-5"   # not the mini one\n\n[projects."${project}"]\ntrust_level = "trusted"\n${Object.entries(
        servers(home),
      )
        .map(
          ([name, { command, args, ...rest }]) =>
            `\n[mcp_servers.${name}]   # mine\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\n${
              'env' in rest ? `env = { MEMORY_FILE_PATH = "${rest.env.MEMORY_FILE_PATH}" }\n` : ''
            }`,
        )
        .join('')}`,
    }),
    screen: (/** @type {{ url: string }} */ { url }) => [
      ...['--no-daemon', '-c', 'check_for_update_on_startup=false', '-c', 'analytics.enabled=false'],
      ...['-c', 'model_provider="stand-in"'],
      '-c',
      `model_providers.stand-in={name="stand-in",base_url="${url}/v1",env_key="STAND_IN_KEY",wire_api="responses"}`,
      PROMPT,
    ],
    opens: [],
    // It asks for itself before the first call of any server's tool: allowed for this session.
    allows: [
      ['mcp_memory.create_entities', DOWN],
      ['for this session', ENTER],
      ['Yes, this once', ENTER],
    ],
    // Keys that come all at once are a paste to it.
    leaves: [
      [DONE, '/quit'],
      ['/quit', ENTER],
    ],
    notes: [],
  },
};

/** Findings by the id of the host, for those of this trial. */
export async function judgeFirstHours(
  /** @type {readonly { id: string, host: any, argv: string[] }[]} */ hosts,
  /** @type {{ stage: import('../bench/stage.mjs').Stage }} */ { stage },
) {
  /** @type {Record<string, object[]>} */
  const found = {};
  for (const { id, host, argv } of hosts) {
    const store = ownStore();
    try {
      found[id] = await judgeFirstHour(newcomer(id, host, argv, stage, store), store);
    } catch (thrown) {
      found[id] = [{ what: 'first hour', saw: /** @type {Error} */ (thrown).message, held: false }];
    } finally {
      await store.close();
    }
  }
  return found;
}

/** @typedef {ReturnType<typeof ownStore>} Store */

/** A session in a home as a user of that host has it, and of nothing else; each `play` begins with that home anew. */
function newcomer(
  /** @type {string} */ id,
  /** @type {any} */ host,
  /** @type {string[]} */ argv,
  /** @type {import('../bench/stage.mjs').Stage} */ stage,
  /** @type {Store} */ { PATH, engine },
) {
  const { files, ...facts } = NEWCOMERS[id];
  const furnish = (/** @type {{ home: string, project: string }} */ place) => {
    rmSync(place.home, { recursive: true });
    mkdirSync(place.project, { recursive: true });
    const all = { ...files(place), 'notes/memory.jsonl': KNOWN, 'project/cups.csv': 'cups\n2\n' };
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(dirname(join(place.home, path)), { recursive: true });
      writeFileSync(join(place.home, path), text);
    }
  };
  const env = (/** @type {object} */ place) => ({ ...host.env(place), PATH });
  const session = new Session(id, { ...host, ...facts, furnish, env }, argv, stage, engine, {});
  session.handedOn = [];
  return session;
}

/** One hour without us, and one with us. */
async function judgeFirstHour(/** @type {any} */ session, /** @type {Store} */ store) {
  const { home, host } = session;
  const look = async () => snapshotOf(home);
  const whenReady = (/** @type {[string, string]} */ [words, keys]) => [
    words,
    () => session.underWay().then(() => keys),
  ];
  const alone = await session.play([], {
    prepare: look,
    conclude: async (/** @type {any} */ { theirs }) => {
      await theirs(host.list);
      return look();
    },
    answers: [...host.opens, ...host.leaves],
  });
  const hour = await session.play([reading(home), DELETION], {
    prepare: async (/** @type {any} */ hands) => ({ before: await look(), setUp: await setUp(hands) }),
    conclude: async (/** @type {any} */ hands) => ({
      notes: readFileSync(join(home, 'notes/memory.jsonl'), 'utf8'),
      restored: await restored(hands, session.id),
      removed: await removed(hands, store),
      after: await look(),
    }),
    answers: [...host.opens.map(whenReady), ...host.allows, ...host.leaves],
  });
  const { prepared, concluded } = hour;
  return [
    prepared.setUp,
    ...judgeCalls(hour, concluded.notes),
    {
      what: 'after the session',
      saw: hour.end.left.length === 0 ? 'nothing of ours runs' : `left: ${hour.end.left.join('; ')}`,
      held: hour.end.left.length === 0,
    },
    concluded.restored,
    concluded.removed,
    ...judgeHome(host, [prepared.before, concluded.after], [alone.prepared, alone.concluded]),
  ];
}

const typedOurs = (
  /** @type {any} */ { env, project },
  /** @type {string[]} */ words,
  /** @type {[string, string][]} */ answers,
  /** @type {number} */ withinMs,
) => atTerminal([process.execPath, MAIN, ...words], { env, cwd: project, answers, withinMs });

/** `setup`, with Enter at each question. */
async function setUp(/** @type {any} */ hands) {
  const answers = SETUP_QUESTIONS.map((question) => /** @type {[string, string]} */ ([question, ENTER]));
  const { code, said } = await typedOurs(hands, ['setup'], answers, SETUP_MS);
  const moved = /moved (2 servers with \d+ tools) behind the bridge: ([\d,]+ characters)/.exec(
    inOneLine(said),
  );
  const held = code === 0 && moved !== null;
  // Nothing of what follows could be judged.
  if (!held) throw new Error(`setup: exit code ${code}: ${failureIn(said)}`);
  const saw = `${answers.length} questions, Enter at each; ${moved[1]} moved, ${moved[2]} less in the prompt`;
  return { what: 'setup', saw, held };
}

/** What the model has read of both calls. */
function judgeCalls(/** @type {any} */ { standIn, said }, /** @type {string} */ notes) {
  const isOurs = (/** @type {any} */ { name }) => name.endsWith('run_python');
  const first = standIn.turns.find((/** @type {any} */ { tools }) => tools.some(isOurs));
  // Hosts ask for titles beside the session, some of them with other tools.
  const last = standIn.turns.findLast((/** @type {any} */ { tools }) => tools.some(isOurs));
  const [read = '', deleted = ''] = last.results.map((/** @type {any} */ result) => result?.text ?? '');
  const isOut = !first.tools.some((/** @type {any} */ { name }) => name.endsWith(MOVED_TOOL));
  const isRead = read.includes('cups.csv') && read.includes('tea');
  const isAsked = inOneLine(said).replaceAll(' ', '').includes(`tool'${MOVED_TOOL}':maythisbecalled?`);
  const isDeleted = deleted.includes('deleted successfully') && notes === KNOWN;
  return [
    {
      what: 'a run',
      saw: isOut && isRead ? 'its tools are out of the prompt; code calls both servers' : head(read),
      held: isOut && isRead,
    },
    {
      what: 'an approval',
      saw:
        isAsked && isDeleted
          ? "asked in the host's own dialog, allowed there by keys, and done"
          : `${isAsked ? 'asked' : 'not asked'}: ${head(deleted)}`,
      held: isAsked && isDeleted,
    },
  ];
}

async function restored(/** @type {any} */ hands, /** @type {string} */ id) {
  const { host, theirs } = hands;
  const { code, said } = await typedOurs(hands, ['restore', id], [], REMOVAL_MS);
  const list = await theirs(host.list);
  const back = Object.keys(servers('')).filter((name) => stateIn(list, host, name) === host.isWell);
  const held = code === 0 && back.length === 2;
  const saw = held ? `its own list has both again, ${host.isWell}` : `exit code ${code}: ${tail(said)}`;
  return { what: 'restore', saw, held };
}

/** `host.listed` finds our line; another server's has another name. */
const stateIn = (/** @type {string} */ list, /** @type {any} */ { listed }, /** @type {string} */ name) =>
  new RegExp(listed.source.replace('sandbox', name), listed.flags).exec(list)?.[1];

/** `uninstall --all` at a terminal: the list, a question, and what is left of the engine's images. */
async function removed(/** @type {any} */ hands, /** @type {Store} */ store) {
  const had = store.images();
  const answers = /** @type {[string, string][]} */ ([['Remove all of this?', `y`]]);
  const { code, said } = await typedOurs(hands, ['uninstall', '--all'], answers, REMOVAL_MS);
  const left = store.images();
  const isListed = had.every((image) => said.slice(0, said.indexOf('Remove all')).includes(image));
  const held = code === 0 && isListed && had.length > 0 && left.length === 0;
  const saw = held
    ? `it lists what goes; after one yes the ${had.length === 1 ? 'image is' : `${had.length} images are`} gone`
    : `exit code ${code}, images left: ${left.join(', ') || 'none'}: ${tail(said)}`;
  return { what: 'uninstall --all', saw, held };
}

/** The whole home, and in it the file that had the servers. */
function judgeHome(
  /** @type {{ file: string, notes: string[] }} */ { file, notes },
  /** @type {[import('./home-files.mjs').Snapshot, import('./home-files.mjs').Snapshot]} */ withUs,
  /** @type {[import('./home-files.mjs').Snapshot, import('./home-files.mjs').Snapshot]} */ without,
) {
  const { ours: all, theirs } = toldApart(withUs, without);
  const known = [...SYSTEM_FOLDERS, ...notes];
  const ours = all.filter(({ path }) => !known.includes(path));
  const noted = all.filter(({ path }) => notes.includes(path));
  const empty = all.filter(({ path }) => SYSTEM_FOLDERS.includes(path));
  const listed = (/** @type {{ path: string }[]} */ changes) => changes.map(({ path }) => path).join(', ');
  const isOf = (/** @type {{ path: string }} */ { path }) => path === file;
  const isHeld = !ours.some(isOf);
  const saw = theirs.some(isOf)
    ? 'as before, but for what it writes there itself, without us too'
    : 'byte for byte as before';
  const same = [...withUs[0].keys()].length - theirs.filter(({ how }) => how !== 'new').length;
  return [
    {
      what: 'its file',
      saw: isHeld ? saw : `with us only: ${foreignLines(file, withUs[1], without[1]).join(' | ')}`,
      held: isHeld,
    },
    {
      what: 'the whole home',
      saw:
        ours.length === 0
          ? [
              `${same} files and folders byte for byte as before`,
              `${theirs.length} that it writes without us too`,
              ...(noted.length === 0 ? [] : [`its notes of our server: ${listed(noted)}`]),
              ...(empty.length === 0 ? [] : [`left empty: ${listed(empty)}`]),
            ].join('; ')
          : `with us only: ${ours.map(({ path, how }) => `${path} (${how})`).join(', ')}`,
      held: ours.length === 0,
    },
  ];
}

/** What `setup` says of the step that failed. */
const failureIn = (/** @type {string} */ text) => head(/\w+ +failed .*/s.exec(text)?.[0] ?? text);

const inOneLine = (/** @type {string} */ text) => text.replaceAll(/\s+/g, ' ');
const head = (/** @type {string} */ text) => inOneLine(text).slice(0, WORDS_CHARS);
const tail = (/** @type {string} */ text) => inOneLine(text).slice(-WORDS_CHARS);
