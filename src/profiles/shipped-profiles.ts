import { fileURLToPath } from "node:url";
import type { ProfileDirectory } from "./read-profile-file.ts";

/** The profiles that come with the product: the first place to look, so that all others win. */
export const shippedProfiles: ProfileDirectory = {
  path: fileURLToPath(new URL("./shipped", import.meta.url)),
  origin: "built in",
};
