// How much of anything the wire between the bridge and the harness takes; frames.ts has what goes over it. A twin of these
// numbers is written with those of the frames.

/** Raised by one with every change that an older peer would misread. */
export const PROTOCOL_VERSION = 9;

/** One line, newline included. A 40 MB tool result fits with its escapes; memory per stream stays bounded. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** Deeper values are refused before any recursive code sees them: pydantic clients stop at 200, V8's stringify at ~5,000. */
export const MAX_DEPTH = 128;

/**
 * Values in one frame. Parsed, a value of three characters takes a hundred bytes and its share of collections: a frame
 * of 64 MiB full of them holds up every other run for 20 s and takes 2 GB; this many take a fraction of a second.
 */
export const MAX_VALUES = 1_000_000;

/**
 * Most bytes of the guest's stream in one run, and of the replies to the guest: parsing them is our processor time, and the one
 * thing that all runs share. The largest useful run moves some tens of results of 40 MB.
 */
export const MAX_RUN_BYTES = 1024 * 1024 * 1024;

/** Frames of the calls that one run has under way or waiting; 10,128 calls of 64 MiB would be 650 GB of ours. */
export const MAX_PENDING_BYTES = 2 * MAX_FRAME_BYTES;

/** Replies that the guest has not read yet; above it a reply becomes a refusal. One reply may still be this long itself. */
export const MAX_UNREAD_BYTES = MAX_FRAME_BYTES;

/**
 * Calls of one run that are under way at once; further ones wait in a queue of MAX_QUEUED_CALLS. 100 gathered calls must all be
 * in flight.
 */
export const MAX_CALLS_IN_FLIGHT = 128;

/** Beyond this a flood is refused call by call, instead of growing the host's memory. */
export const MAX_QUEUED_CALLS = 10_000;

/** Output of either stream travels in pieces of at most this many bytes. */
export const OUTPUT_CHUNK_BYTES = 65_536;

/**
 * Standard input of a command that is longer goes ahead of its run, in pieces of this many bytes. A multiple of three: base64
 * without padding.
 */
export const INPUT_PIECE_BYTES = 3 * 1024 * 1024;

/** Pictures of one run that are shown; a model reads few, and each costs it up to 1,600 tokens. */
export const MAX_PICTURES = 8;

/** Characters of base64 that they may come to together: some clients refuse whole results above 1 MiB (Claude Desktop). */
export const MAX_PICTURES_CHARS = 960 * 1024;

/** Pixels: in a conversation of many pictures Claude's API refuses any with a longer side, and the conversation is stuck. */
export const MAX_PICTURE_SIDE = 2000;

/** Longest query of a search in the documentation. */
export const MAX_QUERY_CHARS = 1_000;

/** Tools that a checked program names; more are left to the run, which asks for each of them anyway. */
export const MAX_NAMED_TOOLS = 200;

/** Longest name of a server or tool in a program; anything longer is not taken for a name. */
export const MAX_NAME_CHARS = 200;
/**
 * One file that comes out of a sandbox, and the whole output of one stream. A client gets it as one message, in base64:
 * the official SDKs end a server over 10 MiB, and one host is said to do so over 8 MiB; this makes 7.
 */
export const MAX_FILE_BYTES = 5 * 1024 * 1024;

/** Files that come out of one run: more is an archive's business, and each is a line that a model reads. */
export const MAX_FILES = 50;

/** All of them together; they are held in the bridge's memory until the run's end. */
export const MAX_FILES_BYTES = 32 * 1024 * 1024;

/** Longest path of a file, and longest name within it, in bytes. Linux itself takes 4,096 and 255. */
export const MAX_PATH_BYTES = 1_024;
export const MAX_SEGMENT_BYTES = 255;

/** Files that go into one run, and their bytes in sum: a model or a person sends them in one message, in base64. */
export const MAX_INPUT_FILES = 100;
export const MAX_INPUT_BYTES = 10 * 1024 * 1024;
