// Meanings of words for the search, and weights of matches: data alone, imports nothing.

/** Fields of a tool, and what a word in each is worth; chosen on one half of scripts/search/questions.json. */
export const FIELD_BOOSTS = {
  name: 2,
  description: 1,
  /** Names of parameters. */
  parameters: 0.4,
  /** Descriptions of parameters, names within them, values they may have. */
  details: 0.3,
  server: 1.5,
} as const;

/** BM25+ with the constants of MiniSearch: saturation of repeated words, weight of a field's length, floor of a match. */
export const BM25 = { k: 1.2, b: 0.7, d: 0.5 } as const;

/** Weights of a match that is not the word itself: MiniSearch's own for a beginning and for a typing error. */
export const PREFIX_WEIGHT = 0.375;
export const FUZZY_WEIGHT = 0.45;
export const NEAR_WEIGHT = 0.4;

/**
 * A tool with half of a question's words keeps this power of a half of its score: four words found of four say more than
 * two found twice as well.
 */
export const SHARE_POWER = 1.5;

/** A shorter word is the beginning of anything. */
export const MIN_PREFIX_CHARS = 3;

/**
 * Edits that a word of no tool may be off, as a share of its length: one in a stem of three to five letters, two up to
 * nine, then three.
 */
export const FUZZY_SHARE = 0.25;
export const MIN_FUZZY_CHARS = 3;

/** Words of a question that count; more say nothing more and each is a search. */
export const MAX_WORDS = 32;

/** Characters of each field that are searched: nobody asks for what a manual says after its first page. */
export const MAX_FIELD_CHARS = 2_000;

/**
 * Characters of each field that the tools of one server share: indexing two thousand tools with manuals would take
 * seconds.
 */
export const MAX_SERVER_CHARS = 400_000;

/** Words without which a question means the same. */
export const STOP_WORDS =
  'a about an am and any are as at be been by can certain could d did do does for from give had has have how i if in into is it its just ll let like m may me might my need of on one or our out please re s shall should so some someone somebody something t take than that the their them then there these they this those to ve want was we were what where which whom whose why will with would you your';

/** Words that are one word to a search, in a line each, the first standing for all. */
export const SAME_WORDS = [
  'delete remove erase rm',
  'directory folder dir',
  'repository repo',
  'document doc documentation docs',
  'image picture photo img',
  'javascript js',
  'typescript ts',
  'python py',
  'markdown md',
  'database db',
  'message msg',
  'argument arg parameter param',
  'environment env',
  'configuration config cfg settings',
  'application app',
  'authentication auth login',
  'information info',
  'identifier id',
  'temporary temp tmp',
  'email mail',
  'calendar cal',
  'screenshot screengrab',
  'timezone tz',
  'website webpage site',
  'user person people member',
  'rename renaming',
] as const;

/** Short forms of more than one word. */
export const SHORT_FORMS = {
  pr: 'pull request',
  a11y: 'accessibility',
  k8s: 'kubernetes',
  url: 'url link',
} as const;

/** Words that often stand for one another when people name what a tool does: a match of another of its line counts less. */
export const NEAR_WORDS = [
  'find search list get show read retrieve query fetch look lookup view see display locate discover browse',
  'get retrieve fetch load open read dump print return give',
  'create add new make open insert post init generate start build register define',
  'update edit change modify set patch replace put adjust alter fix',
  'move rename transfer relocate put',
  'delete clear clean drop trash discard destroy forget purge throw archive',
  'copy clone duplicate fork replicate',
  'run execute evaluate eval launch trigger start begin invoke call perform',
  'record capture start',
  'stop end finish close cancel abort quit terminate',
  'write save store persist put record keep',
  'stash shelve save put away',
  'upload push send attach publish share',
  'download pull fetch clone sync update',
  'undo revert reset restore rollback unstage back',
  'recover restore lost undelete',
  'merge combine join integrate',
  'compare diff difference between',
  'history log past previous',
  'connect link relation relate connection associate',
  'remember memory memorize recall knowledge note fact observation',
  'approve review accept confirm',
  'switch checkout toggle select',
  'mark tag label flag',
  'version release tag',
  'stage index add',
  'status state uncommitted modified dirty',
  'origin remote upstream server',
  'blame author wrote authorship touch',
  'assign assignee',
  'count number figure amount total',
  'sum add total plus',
  'number figure digit',
  'issue bug ticket defect',
  'comment reply remark feedback discussion review',
  'status check ci pipeline build pass',
  'repository project',
  'organization team workspace',
  'file document attachment readme txt pdf csv',
  'image screenshot capture media png jpg jpeg gif svg',
  'table database spreadsheet data source',
  'row record entry item',
  'column field property attribute',
  'metadata detail information property attribute stat',
  'property status value',
  'schema structure type',
  'block paragraph content',
  'content text body inside',
  'text word string term',
  'code function source script program snippet',
  'tree hierarchy structure nested',
  'parent child children',
  'disk file filesystem drive local',
  'permission access allow right',
  'size big bigger biggest large larger largest small smaller smallest resize',
  'zip gzip gz tar compress archive',
  'time date clock day now today when',
  'today now current',
  'timestamp epoch unix',
  'convert transform translate conversion',
  'relative ago since elapsed',
  'person account author owner who',
  'self me own bot',
  'profile account',
  'go navigate visit open',
  'tab page window',
  'back previous',
  'click press push tap hit button',
  'key keyboard enter return shortcut',
  'type enter input write fill',
  'select choose pick option dropdown',
  'mouse pointer cursor hover',
  'drag drop',
  'popup dialog alert modal prompt',
  'attach upload',
  'video recording screencast',
  'snapshot dom html structure',
  'element selector node',
  'console log error',
  'error exception warning failure',
  'request http xhr api call',
  'response body header payload',
  'style css theme rule',
  'dark light colour color scheme',
  'speed performance slow fast profile trace',
  'slow long',
  'throttle limit slow',
  'heap ram leak',
  'score audit rating',
  'simulate emulate fake mock pretend',
  'mobile phone device iphone android',
  'location position geolocation gps place coordinate',
  'wait pause sleep until appear disappear',
  'package library dependency module npm framework',
  'documentation manual guide help reference',
  'test check verify validate audit',
  'think reason plan reflect thought',
  'step stage phase sequence sequential',
  'idea thought',
  'small tiny little',
  'sample example demo',
  'repeat echo',
  'simple plain',
  'chat channel conversation message',
  'meeting event appointment calendar',
  'task todo',
  'summary summarize digest',
  'website browser web internet',
] as const;

/**
 * Actions of a tool, by the verbs of its name, and actions that a question wants done. `open`, `change` and `check` are
 * missing: these verbs are as often something else.
 */
export const ACTIONS = {
  finding:
    'find search list get show read retrieve query fetch look view see browse count which what where who when how',
  creating: 'create add new make insert generate init',
  changing: 'update edit modify set patch rename move replace',
  deleting: 'delete remove erase clear clean drop trash discard destroy forget purge prune wipe unlink',
} as const;

/** Share of the score that stays for a tool that changes something when the question does not say what it wants done. */
export const UNASKED_CHANGE = 0.9;

/** Share for a tool that does something else than the question wants, and for one that deletes when nobody asked. */
export const OTHER_ACTION = 0.7;
export const UNASKED_DELETION = 0.4;
