import { fileURLToPath } from "node:url";

/**
 * Whose runs a process takes up after a crash. A run on scripted answers is its own application:
 * a start with a real model must not go on with it, and a start with a playbook must never put
 * scripted words into a run that a real model began.
 */
export const ordinaryApplication = "mandate";
export const demoApplication = "demo";

const prefix = "playbook:";

export const demoPlaybook = fileURLToPath(new URL("./demonstration/harbour.yaml", import.meta.url));

export function applicationFor(playbook: string | undefined): string {
  return playbook === undefined ? ordinaryApplication : prefix + playbook;
}

/** The playbook that a run of this application answers from; undefined for real models. */
export function playbookOf(application: string): string | undefined {
  if (application === demoApplication) return demoPlaybook;
  return application.startsWith(prefix) ? application.slice(prefix.length) : undefined;
}
