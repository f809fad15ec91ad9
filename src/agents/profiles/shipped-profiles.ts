import { fileURLToPath } from "node:url";
import type { ProfileFolder } from "./read-profile-file.ts";

/** The profiles that come with the product: the first place to look, so that all others win. */
export const shippedProfiles: ProfileFolder = {
  path: fileURLToPath(new URL("../shipped", import.meta.url)),
  origin: "built in",
};
