// Sessions that are alive: what they hold, and their end at a person's word.

import { useState } from 'preact/hooks';
import type { ShownSession } from '../front/shown.js';
import { post, useData } from './data.js';
import { bytes, Empty, Moment, Scrolls, Text } from './parts.js';

export function SessionsView() {
  const { data, reload } = useData<readonly ShownSession[]>('sessions', ['sessions']);
  const [told, setTold] = useState<{ readonly isDone: boolean; readonly says: string }>();
  const [ending, setEnding] = useState('');
  if (data === undefined) return <Empty says="Loading." />;
  const end = async ({ handle, token }: ShownSession) => {
    // Twice, since what the session holds is gone then.
    if (ending !== handle) return setEnding(handle);
    setEnding('');
    setTold(await post('end', { id: handle, token }));
    reload();
  };
  return (
    <>
      <p role="status" class={told?.isDone === false ? 'told not' : 'told'}>
        {told === undefined ? '' : <Text of={told.says} />}
      </p>
      {data.length === 0 ? (
        <Empty says="No session is alive. A session begins when an agent names one in run_python." />
      ) : (
        <Scrolls label="Sessions" kind="table">
          <table>
            <thead>
              <tr>
                <th scope="col">Session</th>
                <th scope="col">Client</th>
                <th scope="col">Since</th>
                <th scope="col">Last call</th>
                <th scope="col">Calls</th>
                <th scope="col">Memory</th>
                <th scope="col">End</th>
              </tr>
            </thead>
            <tbody>
              {data.map((session) => (
                <tr key={session.handle}>
                  <th scope="row">
                    <Text of={session.name} /> <span class="note">{session.handle}</span>
                  </th>
                  <td>
                    <Text of={session.client} />
                    {session.principal !== undefined && (
                      <>
                        {' '}
                        for <Text of={session.principal} />
                      </>
                    )}
                  </td>
                  <td>
                    <Moment at={session.createdAt} />
                  </td>
                  <td>
                    <Moment at={session.lastCallAt} />
                  </td>
                  <td class="number">{session.calls}</td>
                  <td class="number">
                    {session.heldBytes === undefined
                      ? `at most ${bytes(session.memoryLimitBytes)}`
                      : bytes(session.heldBytes)}
                  </td>
                  <td>
                    <button type="button" class="no" onClick={() => void end(session)}>
                      {ending === session.handle ? 'Really end' : 'End'}
                      <span class="unseen">
                        {' '}
                        session <Text of={session.name} />
                      </span>
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolls>
      )}
    </>
  );
}
