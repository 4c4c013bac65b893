// The image that sandboxes start from. One that is here is taken; else a registry is asked, and where none
// answers it is built from Debian packages.

import { asBridgeError, type BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
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
  needs: ['engine', 'ids', 'storage', 'choices'],
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
    const profile = profiles().find((name) => name === wish.image);
    // No registry has the image of a profile.
    if (profile !== undefined) return build(setup, profile, undefined);
    const startedAt = performance.now();
    try {
      const { image, reason } = await chooseImage(wish, images, shown, setup.signal);
      const took = seconds(performance.now() - startedAt);
      const how = reason.kind === 'pulled' ? 'pulled' : 'built';
      return doneResult(`${image}${await size(image)}, ${how} in ${took}`, {
        undo: [images.removalOf(image)],
      });
    } catch (thrown) {
      const error = asBridgeError(thrown);
      if (error.code !== 'E_IMAGE_MISSING') throw thrown;
      if (wish.imageSource === 'operator') return failedResult(error.message, error.remedy);
      return build(setup, wish.profile, error);
    }
  },
};

const plannedResult = (image: string): StepResult =>
  profiles().includes(image)
    ? skippedResult(`the image ${image} would be built from Debian packages: ${COST}`)
    : skippedResult(
        `${image} would be pulled, or an image be built from Debian packages if no registry answers: ${COST}`,
      );

/** `why` is the error of the pull; undefined for an image that no registry has. */
async function build(
  setup: SetupContext,
  profile: string,
  why: BridgeError | undefined,
): Promise<StepResult> {
  const { machine } = setup;
  const undo: string[] = [];
  const cannot = (): StepResult =>
    failedResult(
      why?.message ?? `the image ${profile} is built from Debian packages, which is not possible here`,
      why === undefined
        ? `Run \`${ownCommand('setup', '--image', 'base')}\`, or name an image of your own in MCP_BRIDGE_IMAGE.`
        : why.remedy,
    );
  if (machine.find(BUILDER) === undefined) {
    const packages = machine.system?.packages?.builder;
    // Only Debian's own systems have what makes an image of Debian's packages.
    if (machine.system === undefined || packages === undefined) return cannot();
    const what = `${why === undefined ? 'The image has to be built' : 'No registry gives an image'}, and ${BUILDER}, which builds one, is missing`;
    const installation = await installPackages(setup, what, machine.system, packages, false);
    if (!installation.done) return installation.result;
    undo.push(...installation.undo);
  }
  const { images } = await chooseEngine(engineSelectionOf(setup.prepared.settings), setup.signal);
  if (images.build === undefined) return cannot();
  setup.clear();
  using progress = setup.options.json ? NO_PROGRESS : new BuildProgress(process.stderr);
  const { onProgress, onBytes } = progress;
  const built = await images.build({ profile, onProgress, onBytes }, setup.signal);
  const since = why === undefined ? '' : ', since no registry gave one';
  return doneResult(
    `${built.image}, ${megabytes(built.sizeBytes)}, built in ${seconds(built.durationMs)}${since}`,
    { undo: [images.removalOf(built.image), ...undo] },
  );
}
