// Every measure by its name, in the order of the table. Each is (stage, bare, signal) -> rows (see report.mjs). Needs
// the built bridge.

import { backToBack } from './back-to-back.mjs';
import { measureCluster } from './cluster.mjs';
import { codeExec } from './code-exec.mjs';
import { coldCall } from './cold-call.mjs';
import { context } from './context.mjs';
import { measureElsewhere } from './elsewhere.mjs';
import { endurance } from './endurance.mjs';
import { frames } from './frames.mjs';
import { hello } from './hello.mjs';
import { launches } from './launches.mjs';
import { memory } from './memory.mjs';
import { page } from './page.mjs';
import { preimport } from './preimport.mjs';
import { relay } from './relay.mjs';
import { sessionCall } from './session-call.mjs';
import { startUp } from './start-up.mjs';
import { toolCall } from './tool-call.mjs';
import { warmCall } from './warm-call.mjs';
import { windows } from './windows.mjs';

export const MEASURES = {
  'warm-call': warmCall,
  'session-call': sessionCall,
  'cold-call': coldCall,
  launches,
  hello,
  'back-to-back': backToBack,
  'tool-call': toolCall,
  frames,
  relay,
  preimport,
  memory,
  page,
  endurance,
  'start-up': startUp,
  windows,
  context,
  'code-exec': codeExec,
  elsewhere: measureElsewhere,
  cluster: measureCluster,
};
