// Writes what came of each test file as soon as it has ended, a JSON line each, into the file that SUITE_REPORT names. So a run that
// has to be stopped keeps what it has found, and the file's growth tells that it goes on.

import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';

/** For vitest's --reporter. */
export default class SuiteReporter {
  onTestModuleStart({ moduleId }) {
    this.#write({ started: relative(process.cwd(), moduleId) });
  }

  /** A sign of life. */
  onTestCaseResult() {
    this.#write({});
  }

  onTestModuleEnd(testModule) {
    const tests = [...testModule.children.allTests()];
    const state = (wanted) => tests.filter((test) => test.result().state === wanted);
    const broken = [testModule, ...testModule.children.allSuites()].flatMap((one) =>
      one.errors().map((error) => ({ title: one.fullName ?? 'the file itself', message: textOf([error]) })),
    );
    const failures = state('failed').map((test) => ({
      title: test.fullName,
      message: textOf(test.result().errors ?? []),
    }));
    const all = [...broken, ...failures];
    this.#write({
      file: relative(process.cwd(), testModule.moduleId),
      passed: state('passed').length,
      failed: all.length,
      skipped: tests.length - state('passed').length - failures.length,
      seconds: (testModule.diagnostic().duration ?? 0) / 1000,
      failures: all,
    });
  }

  /** What no file can be blamed for, such as the last look for what the tests left. */
  onTestRunEnd(_modules, errors) {
    for (const error of errors) this.#write({ error: textOf([error]) });
    this.#write({ ended: true });
  }

  #write(line) {
    appendFileSync(process.env.SUITE_REPORT, `${JSON.stringify(line)}\n`);
  }
}

const textOf = (errors) => errors.map((error) => error.stack ?? error.message ?? String(error)).join('\n');
