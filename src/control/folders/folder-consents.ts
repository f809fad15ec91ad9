import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { nearestRealPath } from "../../workspaces/resolve-inside.ts";
import { type Environment, findPlaces, userHomeOf } from "../places.ts";
import type { ControlPlane } from "../records/control-plane.ts";
import type { Principal } from "../records/principal.ts";
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
  /** Every call of this program names the folders it works in, and that is consent. */
  readonly isNamed: boolean;
  /** Also to broad folders. */
  readonly force: boolean;
}

/** What one call says of a folder. */
export interface ConsentCall {
  readonly answer?: ConsentMode | undefined;
  readonly isNamed?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly canAsk?: boolean | undefined;
}

/** Consent of this process alone, to a folder and what is below it. */
interface Permit {
  readonly folder: string;
  readonly mode: ConsentMode;
  readonly force: boolean;
  /** Whose answers for folders below it narrow it. */
  readonly user: string;
}

/**
 * The one place that knows where agents may work: what people answered, which is in records, and
 * what calls of this process said, which ends with it.
 */
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
   * Acts on a decision: remembers an answer, or permits the folder to this process alone. `folder` is
   * the real path that was decided about: what a link has put in its place since is another folder.
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
      this.#permits.push({ folder: real, mode, force: because === "force", user: by.id });
    }
  }

  /**
   * How agents may work in a folder, asked by the engine for every run that is about to begin.
   * Throws "refused-by-policy" where there is no consent.
   */
  async modeOf(folder: string, user: string): Promise<ConsentMode> {
    const permit = this.#permitFor(realPathOf(folder));
    const decision =
      permit === undefined
        ? await this.decide(folder, user, this.#options)
        : await this.decide(folder, permit.user, { isNamed: true, force: permit.force });
    if (decision.kind === "allowed") {
      return permit === undefined ? decision.mode : narrowerMode(permit.mode, decision.mode);
    }
    throw new MandateError("refused-by-policy", refusalOf(decision, folder));
  }

  /** The nearest one. A broad folder below a permitted one is permitted by force alone. */
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

/** One that would be asked about is refused where the question cannot be put. */
export function refusalOf(
  decision: Exclude<ConsentDecision, { kind: "allowed" }>,
  folder: string,
): string {
  return decision.kind === "refused"
    ? decision.sentence
    : `Nothing was started: there is no consent to work in ${JSON.stringify(folder)}.`;
}

/** Why a folder needs `force`; undefined: it does not. */
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

/** Links resolved as far as the folder exists. */
export function realPathOf(folder: string): string {
  return nearestRealPath(resolve(folder)).path;
}

function ownerOf(folder: string): number | null {
  if (process.platform === "win32") return null;
  return statSync(folder, { throwIfNoEntry: false })?.uid ?? null;
}
