/**
 * On every reply. What is answered here is for programs: no browser shall guess another type, show
 * it in a frame, run anything in it, keep it, or tell others where it came from. There is no CORS
 * header among them, and nowhere else: no other origin is granted anything.
 */
export const replyHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};
