// Servers in JavaScript, as far as they read arguments: one converts whatever comes, one looks at types and refuses. Both give
// what was read, without what is not there, or null where the server would refuse the call.

/** As hasty code does. */
export function convertFields(text) {
  const given = Object.assign({}, JSON.parse(text));
  const read = {};
  const take = (name, convert) => {
    if (given[name] !== undefined) read[name] = convert(given[name]);
  };
  for (const name of ['amount', 'limit', 'max_size']) take(name, Number);
  take('force', Boolean);
  take('to', String);
  take('ids', (ids) => [ids].flat().map(String));
  take('order', (order) => {
    const { price } = Object.assign({}, order);
    return price === undefined ? {} : { price: Number(price) };
  });
  take('tags', (tags) =>
    Object.fromEntries(Object.entries(Object(tags)).map(([name, value]) => [name, Number(value)])),
  );
  return read;
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isNumber = (value) => typeof value === 'number';
const isOrder = (value) => isObject(value) && (value.price ?? 0) === Number(value.price ?? 0);
const TYPES = {
  amount: isNumber,
  limit: Number.isInteger,
  force: (value) => typeof value === 'boolean',
  to: (value) => typeof value === 'string',
  ids: (value) => Array.isArray(value) && value.every((id) => typeof id === 'string'),
  order: isOrder,
  tags: (value) => isObject(value) && Object.values(value).every(isNumber),
  max_size: isNumber,
};

/** As careful code does; null is what is not there. */
export function checking(text) {
  const given = JSON.parse(text);
  if (!isObject(given)) return null;
  const read = {};
  for (const [name, fits] of Object.entries(TYPES)) {
    const value = given[name] ?? undefined;
    if (value === undefined) continue;
    if (!fits(value)) return null;
    const price = value.price ?? undefined;
    read[name] = name !== 'order' ? value : price === undefined ? {} : { price };
  }
  return read;
}
