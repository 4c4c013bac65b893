// Words about a question that waits, to whoever is to be told: one line on the desktop, or a small message for the operator's
// webhook, signed as Standard Webhooks has it. They say which tool of which server waits, for whom and until when; never code,
// never what a call returned, and arguments only where the operator asks for them. No known secret is in them, and no link
// that opens the page.

import { createHmac } from 'node:crypto';
import { messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { type Environment, sessionBus, windowsSystemProgram } from '../../base/process/environment.js';
import { ownCommand } from '../../base/process/own-command.js';
import { run } from '../../base/process/process.js';
import type { Redact } from '../../base/secrets/redact.js';
import { shownName, shownTool } from '../../base/text/shown-name.js';
import { clipHarmlessLine, countOf } from '../../base/text/text.js';
import { PatientSender } from '../../base/waiting/patient-sender.js';
import type { Settings } from '../../settings/environment/settings.js';
import { readGuarded } from '../../settings/files/guarded-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { type Question, readableJson } from '../approvals/question.js';

const WEBHOOK_WITHIN_MS = 10_000;
const DESKTOP_WITHIN_MS = 10_000;
const MAX_WORD_CHARS = 200;
const MAX_TROUBLE_CHARS = 500;
/** Arguments are for a glance: who decides reads them whole in the inbox. */
const MAX_ARGUMENTS_CHARS = 2_000;
const MAX_CALLS_TOLD = 10;

const MAX_FILE_BYTES = 4_096;
const READABLE_BY_OTHERS = 0o077;
/** As Standard Webhooks has it. */
const SECRET = /^whsec_(?<key>[A-Za-z0-9+/]+={0,2})$/;
const KEY_BYTES = { min: 24, max: 64 };

export type NoticeParts = {
  readonly settings: Pick<Settings, 'notify'>;
  readonly host: HostFacts;
  readonly env: Environment;
  readonly redact: Redact;
  readonly observer: Observer;
};

export class Notifiers {
  readonly #parts: NoticeParts;
  #webhook: PatientSender | undefined;
  readonly #told = new Set<'desktop' | 'webhook'>();

  constructor(parts: NoticeParts) {
    this.#parts = parts;
  }

  /** Resolves when the word was sent or given up; never rejects. */
  async tell(question: Question): Promise<void> {
    const { desktop } = this.#parts.settings.notify;
    // A desktop is that of the user who started the bridge.
    const shown = desktop && question.principal === undefined ? this.#showOnDesktop(question) : undefined;
    await Promise.all([shown, this.#sendToWebhook(question)]);
  }

  /** From now on nothing is tried again. */
  hurry(): void {
    this.#webhook?.hurry();
  }

  async #sendToWebhook(question: Question): Promise<void> {
    const { webhook: address, secretFile } = this.#parts.settings.notify;
    if (address === undefined || secretFile === undefined) return;
    try {
      this.#webhook ??= this.#senderTo(address, keyIn(secretFile, this.#parts.host));
    } catch (thrown) {
      return this.#tellOnce('webhook', messageOf(thrown));
    }
    await this.#webhook.send(JSON.stringify(this.#messageOf(question)));
  }

  #senderTo(address: string, key: Buffer): PatientSender {
    const target = {
      url: new URL(address),
      timeoutMs: WEBHOOK_WITHIN_MS,
      headers: (body: string) => signatureHeaders(key, idIn(body), body, new Date()),
    };
    return new PatientSender(target, (message) => this.#trouble('webhook', message));
  }

  #messageOf({ id, object, rule, run: runId, client, principal, ...asked }: Question): object {
    const { redact, settings } = this.#parts;
    const word = (text: string) => clipHarmlessLine(redact(text), MAX_WORD_CHARS);
    const { server, tool, calls } = object;
    const shown = calls
      .slice(0, MAX_CALLS_TOLD)
      .map((call) => clipHarmlessLine(redact(readableJson(call.arguments)), MAX_ARGUMENTS_CHARS));
    return {
      type: 'approval.waiting',
      timestamp: new Date().toISOString(),
      data: {
        question: id,
        server: word(shownName(server)),
        tool: word(shownName(tool)),
        calls: calls.length,
        ...(settings.notify.arguments ? { arguments: shown } : {}),
        rule: word(rule),
        run: runId,
        client: word(client),
        ...(principal === undefined ? {} : { principal: word(principal) }),
        askedAt: asked.askedAt,
        expiresAt: asked.expiresAt,
      },
    };
  }

  async #showOnDesktop({ object: { server, tool, calls }, client }: Question): Promise<void> {
    const { redact, env, host } = this.#parts;
    const title = 'A call waits for your approval';
    const what = `${countOf(calls.length, 'call')} of ${shownTool(server, tool)}, for ${client}`;
    const text = `${clipHarmlessLine(redact(what), MAX_WORD_CHARS)}. Answer in the agent, or: ${ownCommand('approvals')}`;
    try {
      const { argv, variables = {} } = desktopCommand(process.platform, { title, text }, (name) =>
        windowsSystemProgram(name, env),
      );
      // A host may have started the bridge without the variables that say where the bus is.
      const bus = process.platform === 'linux' ? sessionBus(env, host.uid, host.exists) : undefined;
      const led = bus === undefined ? {} : { DBUS_SESSION_BUS_ADDRESS: bus };
      const options = { timeoutMs: DESKTOP_WITHIN_MS, env: { ...led, ...variables } };
      const { exitCode, stderr } = await run(argv, options, new AbortController().signal);
      if (exitCode !== 0) throw new Error(`${argv[0]} ends with ${exitCode}: ${stderr}`);
    } catch (thrown) {
      this.#tellOnce('desktop', messageOf(thrown));
    }
  }

  #tellOnce(by: 'desktop' | 'webhook', message: string): void {
    if (!this.#told.has(by)) this.#trouble(by, message);
    this.#told.add(by);
  }

  #trouble(by: 'desktop' | 'webhook', message: string): void {
    const told = clipHarmlessLine(this.#parts.redact(message), MAX_TROUBLE_CHARS);
    this.#parts.observer({ type: 'inbox.trouble', message: `no word of a question by ${by}: ${told}` });
  }
}

/** The text of a notification is handed over beside the program that shows it, and is no part of a program's text. */
export function desktopCommand(
  platform: NodeJS.Platform,
  { title, text }: { readonly title: string; readonly text: string },
  systemProgram: (name: string) => string,
): { readonly argv: [string, ...string[]]; readonly variables?: Readonly<Record<string, string>> } {
  if (platform === 'darwin') {
    const script = [
      'on run argv',
      'display notification (item 2 of argv) with title (item 1 of argv)',
      'end run',
    ];
    return { argv: ['osascript', ...script.flatMap((line) => ['-e', line]), title, text] };
  }
  if (platform === 'win32') {
    const script = [
      'Add-Type -AssemblyName System.Windows.Forms',
      'Add-Type -AssemblyName System.Drawing',
      '$icon = New-Object System.Windows.Forms.NotifyIcon',
      '$icon.Icon = [System.Drawing.SystemIcons]::Information',
      '$icon.Visible = $true',
      '$icon.ShowBalloonTip(8000, $env:NOTICE_TITLE, $env:NOTICE_TEXT, "Info")',
      'Start-Sleep -Seconds 8',
      '$icon.Dispose()',
    ].join('; ');
    const program = systemProgram('WindowsPowerShell\\v1.0\\powershell.exe');
    return {
      argv: [program, '-NoProfile', '-NonInteractive', '-Command', script],
      variables: { NOTICE_TITLE: title, NOTICE_TEXT: text },
    };
  }
  // Servers of notifications read the text as markup.
  const plain = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return { argv: ['notify-send', '--app-name=mcp-sandbox-bridge', '--', title, plain] };
}

/** The headers of Standard Webhooks: the same id in each attempt, and the second of this one. */
export function signatureHeaders(
  key: Buffer,
  id: string,
  body: string,
  now: Date,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

const idIn = (body: string): string => `msg_${JSON.parse(body).data.question}`;

function keyIn(file: string, host: NoticeParts['host']): Buffer {
  const wrong = (trouble: string) =>
    new Error(
      `MCP_BRIDGE_NOTIFY_SECRET_FILE: ${file} ${trouble}. Make one: (umask 077; echo "whsec_$(openssl rand -base64 32)" > ${file})`,
    );
  const read = readGuarded(file, MAX_FILE_BYTES, host);
  if (read.state === 'absent') throw wrong('does not exist');
  if (read.state === 'refused') throw wrong(read.message);
  if (host.uid !== undefined && (Number(read.stats.mode) & READABLE_BY_OTHERS) !== 0)
    throw wrong('can be read by other users');
  const key = Buffer.from(SECRET.exec(read.text.trim())?.groups?.['key'] ?? '', 'base64');
  if (key.length < KEY_BYTES.min || key.length > KEY_BYTES.max)
    throw wrong(`has no key: expected whsec_ and ${KEY_BYTES.min} to ${KEY_BYTES.max} bytes in base64`);
  return key;
}
