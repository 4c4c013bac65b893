// What the page does by itself: it shows what has changed elsewhere, and how long a question still waits. Without it the
// page is plain forms, which do the same after it is loaded again. Plain JavaScript of every browser. It takes markup from
// this page's own address only.

/** For so long nothing can be pressed after something on the page has moved: the pointer may be over another button now. */
const SETTLES_MS = 700;

const lost = /** @type {HTMLElement} */ (document.getElementById('lost'));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let settling;
function settle() {
  document.body.classList.add('settling');
  clearTimeout(settling);
  settling = setTimeout(() => document.body.classList.remove('settling'), SETTLES_MS);
}
document.addEventListener('submit', (event) => {
  if (document.body.classList.contains('settling')) event.preventDefault();
});
/** @param {Document} fresh */
function merge(fresh) {
  const list = document.getElementById('questions');
  const wanted = fresh.getElementById('questions');
  if (!list || !wanted) return;
  let moved = false;
  for (const old of [...list.children])
    if (!fresh.getElementById(old.id)) {
      old.remove();
      moved = true;
    }
  let place = list.firstElementChild;
  for (const next of /** @type {HTMLElement[]} */ ([...wanted.children])) {
    const old = document.getElementById(next.id);
    if (old && old.dataset['state'] === next.dataset['state'] && old === place) {
      place = old.nextElementSibling;
      continue;
    }
    moved = true;
    if (old && old.dataset['state'] === next.dataset['state']) {
      list.insertBefore(old, place);
      continue;
    }
    if (old === place && old) place = old.nextElementSibling;
    if (old) old.remove();
    list.insertBefore(document.importNode(next, true), place);
  }
  for (const id of ['count', 'others']) {
    const [here, there] = [document.getElementById(id), fresh.getElementById(id)];
    if (here && there) here.replaceWith(document.importNode(there, true));
  }
  document.title = fresh.title;
  if (moved) settle();
  countDown();
}
let isAsking = false;
let isDue = false;
async function refresh() {
  if (isAsking) {
    isDue = true;
    return;
  }
  isAsking = true;
  try {
    const answer = await fetch(`${location.pathname}?bare=`, { cache: 'no-store' });
    merge(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    lost.hidden = true;
  } catch {
    lost.hidden = false;
  }
  isAsking = false;
  if (isDue) {
    isDue = false;
    refresh();
  }
}
function countDown() {
  for (const left of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-expires]'))) {
    const seconds = Math.max(0, Math.round((Date.parse(left.dataset['expires'] ?? '') - Date.now()) / 1000));
    const minutes = Math.floor(seconds / 60);
    left.textContent =
      seconds === 0
        ? 'Its time is over.'
        : `Waits for ${minutes > 0 ? `${minutes} min ` : ''}${seconds % 60} s more.`;
  }
}
const events = new EventSource(document.body.dataset['events'] ?? '');
events.onmessage = refresh;
events.onerror = () => {
  lost.hidden = false;
};
setInterval(countDown, 1000);
countDown();
// What is answered once is not asked again when somebody goes back.
addEventListener('pageshow', (event) => {
  if (event.persisted) refresh();
});
