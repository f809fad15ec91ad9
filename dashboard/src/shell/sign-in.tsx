/** The cookie does not count (any more): how to get in. It goes on by itself when that was done. */
export function SignIn() {
  return (
    <div className="mx-auto max-w-lg px-6 py-14">
      <h1 className="text-base font-semibold">This page is not signed in</h1>
      <p className="mt-2 text-soft">
        A page stays signed in for twelve hours, and no longer than the server runs or its token
        holds. To open it again, ask the server for a new address in a terminal:
      </p>
      <pre className="mt-4 rounded-md border border-line bg-page px-4 py-3 font-mono text-xs leading-5">
        mandate serve --link{"\n"}
        <span className="text-soft"># if it does not run: mandate serve --open</span>
      </pre>
      <p className="mt-4 text-soft">
        The address works once, for a minute. Open it in any tab of this browser: this one notices,
        and goes on where it was, without missing anything.
      </p>
    </div>
  );
}
