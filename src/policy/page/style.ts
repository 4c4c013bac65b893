// How the page looks: on a phone and on a wide screen, dark and light, with nothing from elsewhere.

export const STYLE = `
:root { color-scheme: light dark; --back: #f6f5f2; --card: #fff; --line: #dcd9d2; --text: #1d1c1a; --dim: #625e57;
  --go: #1f6b3b; --go-text: #fff; --no: #a3271f; --warn: #7a4b00; --code: #f3f1ec; --string: #22577a; --key: #6b3b74; }
@media (prefers-color-scheme: dark) { :root { --back: #171614; --card: #211f1d; --line: #3a3733; --text: #ece9e3;
  --dim: #a9a399; --go: #7fd49b; --go-text: #10261a; --no: #ff9a90; --warn: #f2c067; --code: #191816; --string: #9ccbe8;
  --key: #d9aee3; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1.25rem 1rem 4rem; }
h1 { font-size: 1.1rem; font-weight: 600; margin: 0 0 1rem; }
h2 { font: 600 1.25rem/1.3 ui-monospace, 'DejaVu Sans Mono', monospace; margin: 0; overflow-wrap: anywhere; }
h3 { font-size: 0.9rem; font-weight: 600; margin: 1rem 0 0.35rem; }
.server, .dot { color: var(--dim); font-weight: 400; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; padding: 1.1rem 1.2rem;
  margin: 0 0 1rem; }
article.closed { background: none; padding: 0.6rem 1.2rem; }
article.closed h2 { font-size: 0.95rem; font-weight: 400; color: var(--dim); }
p { margin: 0.3rem 0; overflow-wrap: anywhere; }
.end { font-size: 0.9rem; }
.why, .note, .left { color: var(--dim); }
.note { font-size: 0.85rem; }
.left { font-variant-numeric: tabular-nums; }
.warn { color: var(--warn); }
pre { margin: 0; padding: 0.7rem 0.85rem; background: var(--code); border-radius: 0.5rem; direction: ltr;
  font: 0.85rem/1.55 ui-monospace, 'DejaVu Sans Mono', monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.long { max-height: 24rem; overflow: auto; border: 1px solid var(--line); }
pre span { unicode-bidi: isolate; }
.string { color: var(--string); }
.key { color: var(--key); }
ol { margin: 0; padding-left: 2.4rem; color: var(--dim); }
ol pre { color: var(--text); margin-bottom: 0.5rem; }
form { margin: 1rem 0 0; }
.buttons { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-bottom: 0.9rem; }
button { font: inherit; font-weight: 500; min-height: 2.75rem; padding: 0.4rem 1rem; border-radius: 0.5rem;
  border: 1px solid var(--line); background: var(--card); color: var(--text); cursor: pointer; }
button:hover { border-color: var(--dim); }
button.once { background: var(--go); border-color: var(--go); color: var(--go-text); }
button.no { color: var(--no); border-color: var(--no); margin-left: auto; }
:focus-visible { outline: 3px solid var(--string); outline-offset: 2px; }
label { display: block; font-size: 0.9rem; margin-bottom: 0.3rem; }
input[name='word'] { font: inherit; width: 100%; min-height: 2.6rem; padding: 0.3rem 0.7rem; border-radius: 0.5rem;
  border: 1px solid var(--line); background: var(--back); color: var(--text); }
dl { display: flex; flex-wrap: wrap; gap: 0.2rem 1.4rem; margin: 1rem 0 0; padding-top: 0.8rem; font-size: 0.8rem;
  border-top: 1px solid var(--line); }
dl div { display: flex; gap: 0.4rem; min-width: 0; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
a { color: inherit; }
[role='status'] { border-left: 3px solid var(--go); padding: 0.3rem 0.8rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
[role='status'].not { border-color: var(--no); }
[role='status']:empty, [hidden] { display: none; }
.settling button { pointer-events: none; opacity: 0.6; }
@media (max-width: 30rem) { .buttons button { flex: 1 1 100%; margin-left: 0; } article { padding: 1rem; } }
@media (prefers-reduced-motion: no-preference) { button { transition: opacity 0.2s; } }
`;
