import type { ArtifactReference } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import { messageOf } from "../ports/message-of.ts";
import type { Store } from "../ports/store.ts";

export type ReadArtifact =
  | { readonly text: string; readonly problem?: undefined }
  | { readonly text?: undefined; readonly problem: string };

/** The body that an event names, or what is wrong with it. */
export async function readArtifact(
  store: Store,
  { bytes, hash }: ArtifactReference,
): Promise<ReadArtifact> {
  const name = `the artifact ${String(hash)} of ${String(bytes)} bytes`;
  try {
    const text = await store.readArtifact(hash);
    if (text === undefined) return { problem: `${name} is gone` };
    if (sha256(text) !== hash) return { problem: `${name} is not what was kept under this name` };
    return { text };
  } catch (error) {
    return { problem: `${name} cannot be read: ${messageOf(error)}` };
  }
}
