// How well a search answers questions.json. A question counts as answered by the first of its tools that is found:
// recall@k is the share of questions with one among the first k, MRR the mean of one over its place.

import { readFileSync } from 'node:fs';

/** How many results are looked at; a tool below them counts as not found. */
const DEPTH = 20;

/**
 * [{ question, tools: ['server/tool', …], part? }]. Tables and weights were chosen on every second one, from the first;
 * the rest of those without a part are held out. Those of part `blind` were written later, by somebody who knew the
 * names of the tools and had not seen the tables, and nothing was ever chosen on them.
 */
export const QUESTIONS = JSON.parse(readFileSync(new URL('questions.json', import.meta.url), 'utf8'));

/** `search(question, limit)` gives 'server/tool', best first; `asked` are some of QUESTIONS. */
export function measure(search, asked = QUESTIONS) {
  const answers = asked.map((one) => {
    const { question, tools, part: said } = one;
    const part = said ?? (QUESTIONS.indexOf(one) % 2 === 0 ? 'tuned' : 'heldOut');
    const found = search(question, DEPTH);
    const place = found.findIndex((name) => tools.includes(name)) + 1;
    return { question, tools, part, place, found: found.slice(0, 5) };
  });
  const figuresOf = (wanted) => figures(answers.filter(({ part }) => part === wanted));
  return {
    all: figures(answers),
    tuned: figuresOf('tuned'),
    heldOut: figuresOf('heldOut'),
    blind: figuresOf('blind'),
    misses: answers.filter(({ place }) => place === 0 || place > 5),
    notFirst: answers.filter(({ place }) => place > 1 && place <= 5),
  };
}

function figures(answers) {
  const share = (test) => roundShare(answers.filter(test).length / answers.length);
  return {
    questions: answers.length,
    recallAt1: share(({ place }) => place === 1),
    recallAt5: share(({ place }) => place >= 1 && place <= 5),
    mrr: roundShare(
      answers.reduce((sum, { place }) => sum + (place === 0 ? 0 : 1 / place), 0) / answers.length,
    ),
  };
}

const roundShare = (share) => Math.round(share * 1000) / 1000;
