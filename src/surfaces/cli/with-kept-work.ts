import { KeptWork } from "../../application/kept-work/kept-work.ts";
import { findPlaces } from "../../control/places.ts";
import type { Io } from "./io.ts";
import { withStore } from "./with-store.ts";

/** Opens what agents left in copies of their own, without models or agents. */
export function withKeptWork<Value>(
  io: Io,
  use: (work: KeptWork) => Promise<Value>,
): Promise<Value> {
  const { home } = findPlaces(io.environment);
  return withStore(io, (store) => use(new KeptWork({ store, home })));
}
