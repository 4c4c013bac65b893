// Fourth step: the image that sandboxes start from. One that is here is taken; else a registry is asked, and where none
// answers it is built from Debian packages.

import { asBridgeError, type BridgeError } from '../../base/errors.js';
import { chooseEngine } from '../../engine/detect.js';
import { chooseImage, imageReasonInWords, localChoice } from '../../engine/images/image-choice.js';
import { profiles } from '../../engine/images/image-name.js';
import { engineSelectionOf } from '../../sandbox/launch/launch-set-up.js';
import { pythonProfile } from '../../sandbox/spec/profile.js';
import { withProgress } from '../serving/prepare.js';
import { megabytes, seconds } from '../terminal/output.js';
import { BuildProgress, NO_PROGRESS } from './image.js';
import { installPackages } from './install-packages.js';
import {
  doneResult,
  failedResult,
  ok,
  type SetupContext,
  type Step,
  type StepResult,
  skippedResult,
} from './step.js';

const BUILDER = 'mmdebstrap';
const COST = 'about 70 MB and half a minute';

export const imageStep: Step = {
  name: 'image',
  needs: ['engine', 'ids', 'storage'],
  doing: 'looking for the image',
  perform: async (setup) => {
    const { settings, observer } = setup.prepared;
    const wish = pythonProfile(settings);
    if (setup.options.dryRun && (setup.found.engine === 'planned' || setup.found.hasNoStore)) {
      return plannedResult(wish.image);
    }
    const shown = withProgress(observer, (step) => setup.show({ step }));
    const { images } = await chooseEngine(engineSelectionOf(settings), setup.signal);
    const size = async (image: string) => {
      const facts = await images.inspect(image, setup.signal);
      return facts === undefined ? '' : `, ${megabytes(facts.sizeBytes)}`;
    };
    const local = await localChoice(wish, images, setup.signal);
    if (local !== undefined)
      return ok(`${local.image}${await size(local.image)} (${imageReasonInWords(local.reason)})`);
    if (setup.options.dryRun) return plannedResult(wish.image);
    const startedAt = performance.now();
    try {
      const { image } = await chooseImage(wish, images, shown, setup.signal);
      const took = seconds(performance.now() - startedAt);
      return doneResult(`${image}${await size(image)}, there after ${took}`, {
        undo: [images.removalOf(image)],
      });
    } catch (thrown) {
      const error = asBridgeError(thrown);
      const profile = profiles().find((name) => name === wish.image);
      if (error.code !== 'E_IMAGE_MISSING') throw thrown;
      if (profile === undefined && wish.imageSource === 'operator')
        return failedResult(error.message, error.remedy);
      return build(setup, profile ?? wish.profile, error);
    }
  },
};

const plannedResult = (image: string): StepResult =>
  skippedResult(
    `${image} would be pulled, or an image be built from Debian packages where no registry answers: ${COST}`,
  );

async function build(setup: SetupContext, profile: string, why: BridgeError): Promise<StepResult> {
  const { machine } = setup;
  const undo: string[] = [];
  if (machine.find(BUILDER) === undefined) {
    const packages = machine.system?.packages?.builder;
    // Only Debian's own systems have what makes an image of Debian's packages.
    if (machine.system === undefined || packages === undefined) return failedResult(why.message, why.remedy);
    const what = `No registry gives an image, and ${BUILDER}, which builds one, is missing`;
    const installation = await installPackages(setup, what, machine.system, packages, false);
    if (!installation.done) return installation.result;
    undo.push(...installation.undo);
  }
  const { images } = await chooseEngine(engineSelectionOf(setup.prepared.settings), setup.signal);
  if (images.build === undefined) return failedResult(why.message, why.remedy);
  setup.clear();
  using progress = setup.options.json ? NO_PROGRESS : new BuildProgress(process.stderr);
  const { onProgress, onBytes } = progress;
  const built = await images.build({ profile, onProgress, onBytes }, setup.signal);
  return doneResult(
    `${built.image}, ${megabytes(built.sizeBytes)}, built in ${seconds(built.durationMs)}, since no registry gave one`,
    { undo: [images.removalOf(built.image), ...undo] },
  );
}
