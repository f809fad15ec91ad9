import { z } from "zod";
import { nearestKey } from "../../../agents/documents/nearest-key.ts";
import { effectiveProfile } from "../../../application/effective-profile.ts";
import { publicProfile } from "../../../application/public-contract.ts";
import { summarizeProfile } from "../../../application/summarize-profile.ts";
import { waitingContent } from "../../../application/waiting-content.ts";
import { holdsRole } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { defineRoute } from "../route.ts";
import { listOf, plainData, profileName } from "./shared-schemas.ts";
import { waitingRow } from "./trust.ts";

const profileRow = z.object({
  name: z.string(),
  description: z.string(),
  capabilities: listOf(z.string()),
  model: z.string().nullable(),
  origin: z.string(),
  isHidden: z.boolean(),
});

const profileList = z.object({
  items: listOf(profileRow),
  problems: listOf(z.object({ name: z.string(), file: z.string(), message: z.string() })),
  waiting: listOf(waitingRow).meta({
    description: "Project files that have no effect until an operator trusts them.",
  }),
});

const fields = listOf(
  z.object({
    field: z.string().meta({ description: "A dotted path." }),
    value: plainData<unknown>("The value."),
    origin: z.string().meta({ description: "The origin of the value." }),
  }),
);

const prompt = z.string().nullable().meta({ description: "Null for viewers." });

const profileDetail = z.object({
  name: z.string(),
  usable: z.boolean(),
  problem: z.string().nullable(),
  fields,
  prompt,
  layers: listOf(z.string()),
  cut: listOf(z.object({ field: z.string(), origin: z.string() })).meta({
    description: "Fields that a project's layers try to widen: they can only narrow.",
  }),
  waiting: listOf(z.object({ origin: z.string(), hash: z.string(), fields, prompt })),
});

const tag = "profiles";

export const profileRoutes = [
  defineRoute({
    id: "listProfiles",
    method: "GET",
    path: "/profiles",
    summary: "Lists the usable profiles, and the problems of the others.",
    tag,
    role: "viewer",
    reply: profileList,
    async handle(_request, { runtime }) {
      const { control, profiles } = runtime;
      await control.view.refresh();
      const items = profiles.all().map((profile) => ({
        name: profile.name,
        description: profile.description,
        capabilities: profile.capabilities,
        model: summarizeProfile(runtime, profile.name)?.model ?? null,
        origin: profile.origin,
        isHidden: profile.hidden === true,
      }));
      const problems = profiles.problems.map(({ file, message, name }) => ({
        name,
        file,
        message,
      }));
      return { items, problems, waiting: waitingContent(control) };
    },
  }),
  defineRoute({
    id: "getProfile",
    method: "GET",
    path: "/profiles/:profile",
    summary: "Shows a profile in effect, and the origin of each field.",
    tag,
    role: "viewer",
    params: z.object({ profile: profileName }),
    reply: profileDetail,
    async handle({ params: { profile: name }, principal }, { runtime: { control, profiles } }) {
      await control.view.refresh();
      const profile = effectiveProfile(profiles, name);
      if (profile === undefined) {
        const nearest = nearestKey(name, profiles.names());
        const hint = nearest === undefined ? "" : ` Did you mean ${JSON.stringify(nearest)}?`;
        const sentence = `There is no profile ${JSON.stringify(name)}.${hint}`;
        throw new MandateError("unknown-profile", sentence);
      }
      return {
        problem: null,
        ...publicProfile(profile, { withPrompts: holdsRole("operator", principal) }),
      };
    },
  }),
];
