/** Whether an address to listen at can be reached from this machine alone. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || /^(127(\.\d{1,3}){3}|::1)$/.test(hostname);
}
