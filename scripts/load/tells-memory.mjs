// Loaded ahead into a bridge that is weighed: answers each message of its parent with the bytes that it holds when garbage is gone.

process.on('message', () => {
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  process.send(heapUsed + external);
});
// It ends by itself all the same.
process.channel.unref();
