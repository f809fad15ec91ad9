import { nearestKey } from "../../agents/documents/nearest-key.ts";
import type { Profile } from "../../agents/profiles/profile.ts";
import { effectiveProfile } from "../../application/effective-profile.ts";
import { requireTrustable } from "../../application/judge-waiting.ts";
import { agentAdapters } from "../../application/programs/agent-adapters.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Runtime } from "../../runtime.ts";
import { type Arguments, text } from "./command.ts";
import { type Io, localUser } from "./io.ts";
import { printable, printableJson, printableLine } from "./printable.ts";

const knownAgents = Object.keys(agentAdapters);

/** How commands take the profile of an agent. */
export const profileOptions = {
  profile: text("NAME", "agent profile or @handle (default: pinned, or general)", "p"),
  agent: text("PROGRAM", `an agent program under a contract: ${knownAgents.join(", ")}`),
} as const;

/** The profile that was asked for: `--agent codex` is short for the profile of that program. */
export function profileIn(given: Arguments): string | undefined {
  const [profile, agent] = [given.text("profile"), given.text("agent")];
  if (agent === undefined) return profile;
  if (profile !== undefined) {
    throw new MandateError("usage", "--agent and --profile both name the agent: give one of them.");
  }
  if (agent.startsWith("@") || knownAgents.includes(agent)) return agent;
  const nearest = nearestKey(agent, knownAgents);
  const hint = nearest === undefined ? "" : ` Did you mean ${nearest}?`;
  throw new MandateError(
    "usage",
    `--agent takes ${knownAgents.join(", ")} or a registered @handle; it is ${JSON.stringify(agent)}.${hint} Other profiles are named with --profile.`,
  );
}

export interface ChosenProfile {
  /** A name or a handle, as the engine takes it. */
  readonly profile: string;
  readonly model: string;
  /** What the person should know about the choice: a pin. */
  readonly note?: string;
}

/** Chooses the profile and its model, and reports what is wrong with them before a run exists. */
export async function chooseProfile(
  runtime: Runtime,
  asked: string | undefined,
  where: { readonly workspace: string; readonly io: Io; readonly session?: string | undefined },
): Promise<ChosenProfile> {
  const { control } = runtime;
  const context = { session: where.session, user: "local", workspace: where.workspace };
  const pin = asked === undefined ? await control.plane.effectivePin(context) : undefined;
  const name = asked ?? pin?.profileId ?? "general";
  await offerToTrust(runtime, name, where.io);
  const profile = name.startsWith("@") ? await behindHandle(runtime, name) : named(runtime, name);
  const model = modelOf(runtime, profile);
  const place = pin?.scope === "global" ? "everywhere" : `for this ${pin?.scope}`;
  const note = pin && `${pin.profileId} is pinned ${place}`;
  return { profile: name, model, ...(note && { note }) };
}

/** Reports before a run exists that no model would answer, or that an agent program cannot be held. */
function modelOf({ models, programs }: Runtime, profile: Profile | undefined): string {
  const policy = profile?.model ?? {};
  if (profile?.runner === undefined) {
    const [model = ""] = models.candidates(policy);
    models.resolve(model);
    return model;
  }
  const { name, runner } = profile;
  const obstacle = programs.obstacleTo(runner);
  if (obstacle !== undefined) {
    throw new MandateError(
      "refused-by-policy",
      `${name} cannot work under a contract here: ${obstacle}`,
    );
  }
  const isNamed = policy.model !== undefined || policy.pool !== undefined;
  const [model = ""] = programs.modelsFor(runner, () => models.candidates(policy), isNamed);
  const hasOwnLogin = "agent" in runner && runner.login === "own";
  if (!hasOwnLogin) models.resolve(model);
  return model;
}

async function behindHandle({ control, profiles }: Runtime, handle: string) {
  const { profileId } = await control.plane.entry(handle);
  return profiles.get(profileId);
}

function named({ config, profiles }: Runtime, name: string): Profile | undefined {
  const profile = profiles.get(name);
  if (profile !== undefined || config.agents.delegation.onUnknown === "fallback") return profile;
  const problem = profiles.problemOf(name);
  if (problem) {
    const isWaiting = profiles.pending().some((layer) => layer.name === name);
    throw new MandateError(isWaiting ? "refused-by-policy" : "profile-invalid", problem.message);
  }
  throw unknownProfile(name, profiles.names());
}

/** A terminal asks when the profile is needed; elsewhere the refusal says what to type. */
async function offerToTrust({ control, profiles }: Runtime, name: string, io: Io): Promise<void> {
  if (io.ask === undefined || profiles.get(name) !== undefined) return;
  const waiting = profiles.pending().filter((layer) => layer.name === name);
  if (waiting.length === 0) return;
  const question = [
    `"${name}" comes with this project. It says:`,
    ...(effectiveProfile(profiles, name)?.waiting ?? []).flatMap(({ fields, origin, prompt }) => [
      `${printableLine(origin)}`,
      ...fields.map(({ field, value }) => `  ${printableLine(field)}: ${printableJson(value)}`),
      ...(prompt === "" ? [] : ["", printable(prompt), ""]),
    ]),
    "Use it as it is now? [y/N] ",
  ];
  const answer = await io.ask(question.join("\n"), new AbortController().signal);
  if (!/^y(?:es)?$/i.test(answer.trim())) return;
  for (const { origin, untrustedHash: hash = "" } of waiting) {
    requireTrustable(control, { kind: "profile", name, file: origin, hash });
    await control.plane.trust(hash, { file: origin, name }, localUser);
  }
  await control.view.refresh(true);
}

/** An unknown name: the error has the nearest name, and all names. */
export function unknownProfile(name: string, known: readonly string[]): MandateError {
  const nearest = nearestKey(name, known);
  const hint = nearest === undefined ? "" : ` Did you mean ${nearest}?`;
  return new MandateError(
    "unknown-profile",
    `There is no profile ${JSON.stringify(name)}.${hint} There are: ${known.join(", ")}.`,
  );
}
