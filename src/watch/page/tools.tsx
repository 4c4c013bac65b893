// Calls, latency and errors of each tool, and how much went between code and servers without passing the model.

import type { ShownTools } from '../front/shown.js';
import { useData } from './data.js';
import { bytes, countOf, duration, Empty, Scrolls, ToolName } from './parts.js';

const ASKS_AT_MOST_EVERY_MS = 1_000;

export function ToolsView() {
  const { data } = useData<ShownTools>('tools', ['runs', 'now'], ASKS_AT_MOST_EVERY_MS);
  if (data === undefined) return <Empty says="Loading." />;
  const { tools } = data;
  if (tools.length === 0) return <Empty says="No tool has been called yet." />;
  const sum = (of: (one: ShownTools['tools'][number]) => number) =>
    tools.reduce((all, one) => all + of(one), 0);
  return (
    <>
      <p class="summary">
        {countOf(
          sum(({ calls }) => calls),
          'call',
        )}{' '}
        of {countOf(tools.length, 'tool')}. <strong>{bytes(sum(({ bytes: moved }) => moved))}</strong> of
        arguments and results went between code and servers; called directly, a model would have written or
        read all of it.
      </p>
      <Scrolls label="Tools" kind="table">
        <table>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Calls</th>
              <th scope="col">Failed</th>
              <th scope="col">Denied</th>
              <th scope="col">Median</th>
              <th scope="col">95 %</th>
              <th scope="col">Past the model</th>
            </tr>
          </thead>
          <tbody>
            {tools.map((one) => (
              <tr key={`${one.server} ${one.tool}`}>
                <th scope="row">
                  <ToolName server={one.server} tool={one.tool} />
                </th>
                <td class="number">{one.calls}</td>
                <td class={one.failed > 0 ? 'number warn' : 'number'}>{one.failed}</td>
                <td class={one.denied > 0 ? 'number warn' : 'number'}>{one.denied}</td>
                <td class="number">{one.medianMs === undefined ? '' : duration(one.medianMs)}</td>
                <td class="number">{one.p95Ms === undefined ? '' : duration(one.p95Ms)}</td>
                <td class="number">{bytes(one.bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </>
  );
}
