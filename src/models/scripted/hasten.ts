import type { Playbook } from "./playbook.ts";

/** The same playbook with its waits divided: ten times the speed for a test of what people watch. */
export function hasten(playbook: Playbook, speed: number): Playbook {
  if (speed === 1) return playbook;
  const sooner = (ms: number | undefined) =>
    ms === undefined ? undefined : Math.round(ms / speed);
  return {
    ...playbook,
    replies: playbook.replies.map((reply) => ({
      ...reply,
      latency_ms: sooner(reply.latency_ms),
      retry_after_ms: sooner(reply.retry_after_ms),
    })),
  };
}
