// How zod makes its schemas. Usually it compiles a parser for each object at the first value, as text that is evaluated: that
// pays after some hundred values and takes as long as interpreting fifty. What is made until the bridge is whole is used once
// or twice; the schemas of frames are made afterwards. What a schema accepts, and what it says, is the same.

import { z } from 'zod';

z.config({ jitless: true });

/** Schemas that are made from now on are compiled. */
export const compileSchemas = (): void => void z.config({ jitless: false });
