import { useEffect, useState } from "react";
import { linkProblem, readLinkCommand } from "../data/begin-session.ts";
import { useValue } from "../data/value-store.ts";

/** The cookie does not count (any more): how to sign in. The page continues by itself afterwards. */
export function SignIn() {
  const problem = useValue(linkProblem);
  const [command, setCommand] = useState("mandate serve --link");
  useEffect(() => void readLinkCommand().then(setCommand), []);
  return (
    <div className="mx-auto max-w-lg px-6 py-14">
      <h1 className="text-base font-semibold">
        {problem === "" ? "This page is not signed in" : problem}
      </h1>
      <p className="mt-2 text-soft">
        {problem === ""
          ? "A page stays signed in for twelve hours, until its server stops, or until its token is revoked. "
          : ""}
        Open the address that the server printed, or get one in a terminal:
      </p>
      <pre className="mt-4 whitespace-pre-wrap rounded-md border border-line bg-page px-4 py-3 font-mono text-xs leading-5">
        {command}
      </pre>
      <p className="mt-4 text-soft">
        Open it in any tab of this browser: this one notices, and continues where it was, without
        missing anything.
      </p>
    </div>
  );
}
