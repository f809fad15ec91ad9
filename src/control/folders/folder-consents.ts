import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { nearestRealPath } from "../../workspaces/resolve-inside.ts";
import { type Environment, findPlaces, userHomeOf } from "../places.ts";
import type { ControlPlane } from "../records/control-plane.ts";
import { installationUser, type Principal } from "../records/principal.ts";
import {
  breadthOf,
  type ConsentDecision,
  type ConsentMode,
  decideConsent,
  narrowerMode,
  type PersonalFolder,
} from "./decide-consent.ts";

export interface FolderConsentsOptions {
  readonly plane: Pick<ControlPlane, "consents" | "consent">;
  readonly environment: Environment;
  /** Every call of this program names its folders, which is consent. */
  readonly isNamed: boolean;
  /** The consent may also cover a broad folder, such as the home. */
  readonly force: boolean;
}

/** The part of one call in the decision. */
export interface ConsentCall {
  readonly answer?: ConsentMode | undefined;
  readonly isNamed?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly canAsk?: boolean | undefined;
}

/** Consent of this process to a folder and everything below it. */
interface Permit {
  readonly folder: string;
  readonly mode: ConsentMode;
  readonly force: boolean;
}

/** Decides where agents may work: by answers in records, and by the calls of this process. */
export class FolderConsents {
  readonly #options: FolderConsentsOptions;
  readonly #personal: readonly PersonalFolder[];
  readonly #permits: Permit[] = [];

  constructor(options: FolderConsentsOptions) {
    this.#options = options;
    this.#personal = personalFolders(options.environment);
  }

  async decide(folder: string, user: string, call: ConsentCall = {}): Promise<ConsentDecision> {
    const real = realPathOf(folder);
    return decideConsent({
      folder: real,
      owner: ownerOf(real),
      remembered: await this.#options.plane.consents(user),
      personal: this.#personal,
      answer: call.answer,
      isNamed: call.isNamed,
      force: call.force,
      canAsk: call.canAsk,
    });
  }

  /**
   * Stores an answer, or permits the folder for this process. `folder` is the real path of the
   * decision: a link that changed since leads to another folder.
   */
  async accept(
    folder: string,
    decision: Extract<ConsentDecision, { kind: "allowed" }>,
    by: Principal,
  ): Promise<void> {
    const real = realPathOf(folder);
    if (real !== folder) throw replaced(folder);
    const { because, mode } = decision;
    if (because === "answer") {
      await this.#options.plane.consent({ folder: real, mode, owner: ownerOf(real) }, by);
    } else if (because !== "memory") {
      this.#permits.push({ folder: real, mode, force: because === "force" });
    }
  }

  /**
   * The mode of a folder, which the engine asks for before every run. Throws "refused-by-policy"
   * without consent.
   */
  async modeOf(folder: string, user: string): Promise<ConsentMode> {
    const decision = await this.decisionFor(folder, user);
    if (decision.kind === "allowed") return decision.mode;
    throw new MandateError("refused-by-policy", refusalOf(decision, folder));
  }

  /**
   * What holds for runs of a user now: a permit of this process, or the user's answer. Neither allows
   * more than the installation's own user and the runs' user answered.
   */
  async decisionFor(folder: string, user: string): Promise<ConsentDecision> {
    const permit = this.#permitFor(realPathOf(folder));
    const call = permit === undefined ? this.#options : { isNamed: true, force: permit.force };
    const decision = await this.decide(folder, user, call);
    if (decision.kind !== "allowed") return decision;
    const most = await this.#mostFor(folder);
    const mode = narrowerMode(narrowerMode(decision.mode, most), permit?.mode ?? most);
    return { ...decision, mode };
  }

  /** The answer of the installation's own user, which no other user's answer widens. */
  async #mostFor(folder: string): Promise<ConsentMode> {
    const decision = await this.decide(folder, installationUser, { isNamed: true });
    return decision.kind === "allowed" ? decision.mode : "in-place";
  }

  /** The permit of the nearest folder above. For a broad folder only a forced permit counts. */
  #permitFor(folder: string): Permit | undefined {
    const isBroad = breadthOf(folder, this.#personal) !== undefined;
    return this.#permits
      .filter((one) => isBelow(folder, one.folder) && (one.force || !isBroad))
      .sort((left, right) => right.folder.length - left.folder.length)[0];
  }
}

function replaced(folder: string): MandateError {
  return new MandateError(
    "refused-by-policy",
    `${JSON.stringify(folder)} leads to another folder now. Nothing was started. Start again in the folder that you mean.`,
  );
}

/** The refusal; also for an open question that no person can be asked. */
export function refusalOf(
  decision: Exclude<ConsentDecision, { kind: "allowed" }>,
  folder: string,
): string {
  return decision.kind === "refused"
    ? decision.sentence
    : `Nothing was started: there is no consent to work in ${JSON.stringify(folder)}.`;
}

/** The reason why a folder needs `force`; undefined: it needs none. */
export function refusalOfBroad(folder: string, environment: Environment): string | undefined {
  const real = realPathOf(folder);
  const personal = personalFolders(environment);
  const decision = decideConsent({
    folder: real,
    owner: null,
    remembered: [],
    isNamed: true,
    personal,
  });
  return decision.kind === "refused" ? decision.sentence : undefined;
}

function personalFolders(environment: Environment): readonly PersonalFolder[] {
  const places = findPlaces(environment);
  return [
    { folder: userHomeOf(environment), what: "your home folder" },
    { folder: places.home, what: "Mandate's own data" },
    { folder: dirname(places.userConfig), what: "Mandate's own configuration" },
  ].map(({ folder, what }) => ({ folder: realPathOf(folder), what }));
}

/** The real path, links resolved as far as the folder exists. */
export function realPathOf(folder: string): string {
  return nearestRealPath(resolve(folder)).path;
}

function ownerOf(folder: string): number | null {
  if (process.platform === "win32") return null;
  return statSync(folder, { throwIfNoEntry: false })?.uid ?? null;
}
