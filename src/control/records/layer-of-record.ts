import { reservedName } from "../../agents/profiles/profile.ts";
import { parseProfileDocument } from "../../agents/profiles/profile-document.ts";
import { type ProfileLayer, standingOf } from "../../agents/profiles/profile-layer.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { quote } from "./shown-text.ts";

/**
 * The layer of a profile record. Records belong to the operators and need no trust. Throws
 * "profile-invalid" for an invalid profile, before it is stored and when it is read.
 */
export function layerOfRecord(id: string, value: unknown): ProfileLayer {
  const origin = `record: profile/${id}`;
  if (!/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(id)) {
    const rule = "1 to 128 of A-Z, a-z, 0-9, . _ : and -, the first a letter or digit";
    throw new MandateError("profile-invalid", `${quote(id)} cannot be a profile's id: ${rule}.`);
  }
  const reserved = reservedName(id);
  if (reserved !== undefined) throw new MandateError("profile-invalid", reserved);
  const parsed = parseProfileDocument({ value, lineOf: () => 1 }, `profile/${id}`);
  const { fields, name = id } = parsed;
  if (name === id) return { name, fields, origin, ...standingOf(parsed) };
  throw new MandateError(
    "profile-invalid",
    `profile/${id}: "name" is ${quote(name)}; a record is called by its id. Leave the name out.`,
  );
}
