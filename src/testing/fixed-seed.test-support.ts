/**
 * Every run of the suite tries the same cases, so what is red is red for everybody and again.
 * `npm run fuzz` sets MANDATE_CASES=many and looks for new ones.
 */
import fc from "fast-check";

if (process.env["MANDATE_CASES"] !== "many") fc.configureGlobal({ seed: 0x6d616e64 });
