import { Confirm } from "../components/confirm.tsx";
import { useValue } from "../data/value-store.ts";
import { departure } from "../router/unsaved.ts";

/** Asks before unsaved text is lost. */
export function DepartureDialog() {
  const wanted = useValue(departure);
  if (wanted === null) return null;
  const stay = (): void => departure.set(null);
  return (
    <Confirm
      title="Leave without saving?"
      action="Leave"
      isDangerous
      onConfirm={() => {
        stay();
        wanted.go();
      }}
      onClose={stay}
    >
      What you wrote here is not saved, and is lost when you leave.
    </Confirm>
  );
}
