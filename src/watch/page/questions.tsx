// Questions that wait for a person, and their answers. The calls are shown as they will be sent, whole, and nothing of them but text.

import { useEffect, useRef, useState } from 'preact/hooks';
import { BUTTONS, type ShownEnd, type ShownQuestion } from '../front/shown.js';
import { post, useData } from './data.js';
import { countOf, duration, Empty, linkToRun, Moment, Scrolls, Text, ToolName } from './parts.js';

type Decision = ShownQuestion['offers'][number];

const MAX_WORD_CHARS = 500;
/** For so long nothing can be pressed after questions have come or gone: the pointer may be over another button now. */
const SETTLES_MS = 700;
const TICKS_MS = 1_000;

export function QuestionsView() {
  const { data, reload } = useData<readonly ShownQuestion[]>('questions', ['questions']);
  const { data: ended = [] } = useData<readonly ShownEnd[]>('ended', ['questions']);
  const [told, setTold] = useState<{ readonly isDone: boolean; readonly says: string }>();
  const isSettling = useSettling((data ?? []).map(({ id }) => id).join());
  if (data === undefined) return <Empty says="Loading." />;
  return (
    <>
      <p role="status" class={told?.isDone === false ? 'told not' : 'told'}>
        {told === undefined ? '' : <Text of={told.says} />}
      </p>
      {data.length === 0 && <Empty says="Nothing waits for you." />}
      {data.map((question) => (
        <QuestionCard
          key={question.id + question.token}
          question={question}
          isSettling={isSettling}
          onAnswered={(said) => {
            setTold(said);
            reload();
          }}
        />
      ))}
      {ended.length > 0 && (
        <>
          <h2>Ended lately</h2>
          <ul>
            {ended.map(({ id, server, tool, why, at }) => (
              <li key={id}>
                <ToolName server={server} tool={tool} />: <Text of={why} />, at <Moment at={at} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** True for a moment after `what` has changed. */
function useSettling(what: string): boolean {
  const before = useRef(what);
  const [settled, setSettled] = useState(what);
  useEffect(() => {
    if (before.current === what) return;
    before.current = what;
    const timer = setTimeout(() => setSettled(what), SETTLES_MS);
    return () => clearTimeout(timer);
  }, [what]);
  return settled !== what;
}

function QuestionCard({
  question,
  isSettling,
  onAnswered,
}: {
  readonly question: ShownQuestion;
  readonly isSettling: boolean;
  readonly onAnswered: (said: { readonly isDone: boolean; readonly says: string }) => void;
}) {
  const { id, server, tool, rule, run, client, principal, session, askedAt, expiresAt, offers } = question;
  const [word, setWord] = useState('');
  const [isSending, setSending] = useState(false);
  const answer = async (decision: Decision) => {
    if (isSettling || isSending) return;
    setSending(true);
    const said = await post('answer', { id, token: question.token, decision, word });
    setSending(false);
    onAnswered(said);
  };
  return (
    <article id={id} aria-labelledby={`title-${id}`}>
      <h2 id={`title-${id}`}>
        <ToolName server={server} tool={tool} />
      </h2>
      <p class="note">
        Asked because of <Text of={rule} />. <Remaining until={expiresAt} />
      </p>
      <Calls question={question} />
      {/* Enter in the field answers nothing: nobody is to allow something by it. */}
      <form onSubmit={(event) => event.preventDefault()}>
        <div class="buttons">
          {offers.map((decision) => (
            <button
              key={decision}
              type="button"
              class={decision}
              disabled={isSending}
              aria-disabled={isSettling}
              aria-label={
                decision === 'no' || decision === 'once' ? undefined : `Allow: ${BUTTONS[decision]}`
              }
              onClick={() => void answer(decision)}
            >
              {BUTTONS[decision]}
            </button>
          ))}
        </div>
        <label for={`word-${id}`}>
          A word, if you like.{' '}
          <span class="note">
            {offers.includes('always')
              ? 'The code reads it after “Deny”; “Always” writes it into the policy file, and allows every later call of this tool, whatever its arguments.'
              : 'The code reads it after “Deny”.'}
          </span>
        </label>
        <input
          id={`word-${id}`}
          maxLength={MAX_WORD_CHARS}
          autocomplete="off"
          spellcheck={false}
          value={word}
          onInput={(event) => setWord(event.currentTarget.value)}
        />
      </form>
      <p class="note facts">
        <Text of={client} />, run{' '}
        <a href={linkToRun({ run })}>
          <Text of={run} />
        </a>
        {session !== undefined && (
          <>
            , session <Text of={session} />
          </>
        )}
        {principal !== undefined && (
          <>
            , principal <Text of={principal} />
          </>
        )}
        , asked at <Moment at={askedAt} />, question {id}
      </p>
    </article>
  );
}

function Calls({ question: { id, calls, callCount, tool } }: { readonly question: ShownQuestion }) {
  if (calls === undefined)
    return (
      <p class="warn">
        What would be sent is too long for a page, so it can only be denied here. In a terminal,
        mcp-sandbox-bridge approvals show {id} shows all of it.
      </p>
    );
  return (
    <>
      <h3>
        {callCount === 1
          ? 'This call would be sent:'
          : `These ${callCount} calls would be sent, all or none:`}
      </h3>
      {calls.map((pieces, at) => (
        <Scrolls key={at} label={`Arguments of call ${at + 1} of ${tool}`} kind="lines">
          <pre>
            {pieces.map(({ is, text }, index) => (
              <span key={index} class={is}>
                {text}
              </span>
            ))}
          </pre>
        </Scrolls>
      ))}
      {callCount > 1 && <p class="note">{countOf(callCount, 'call')} in all.</p>}
    </>
  );
}

function Remaining({ until }: { readonly until: string }) {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), TICKS_MS);
    return () => clearInterval(timer);
  }, []);
  const leftMs = Date.parse(until) - nowMs;
  return (
    <>
      {leftMs > 0 ? `Waits for ${duration(Math.floor(leftMs / 1_000) * 1_000)} more.` : 'Its time is over.'}
    </>
  );
}
