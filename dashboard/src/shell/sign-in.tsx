const usualPort = "4848";

/** Where this page came from; the usual place need not be said. */
function portOption(): string {
  return location.port === "" || location.port === usualPort ? "" : ` --port ${location.port}`;
}

/** The cookie does not count (any more): how to sign in. The page continues by itself afterwards. */
export function SignIn() {
  return (
    <div className="mx-auto max-w-lg px-6 py-14">
      <h1 className="text-base font-semibold">This page is not signed in</h1>
      <p className="mt-2 text-soft">
        A page stays signed in for twelve hours, and no longer than the server runs or its token
        holds: perhaps the server was started again. Ask it for a new address in a terminal:
      </p>
      <pre className="mt-4 whitespace-pre-wrap rounded-md border border-line bg-page px-4 py-3 font-mono text-xs leading-5">
        mandate serve --link{portOption()}
        {"\n"}
        <span className="text-soft"># if it does not run: mandate serve --open{portOption()}</span>
      </pre>
      <p className="mt-4 text-soft">
        The address works once, for a minute. Open it in any tab of this browser: this one notices,
        and continues where it was, without missing anything.
      </p>
    </div>
  );
}
