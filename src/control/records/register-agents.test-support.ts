/** A process of its own: registers agents one after another in the database it is told of. */
import { agent, openControlPlane, operator } from "./open-control-plane.test-support.ts";

const [path = "", name = "", count = "0"] = process.argv.slice(2);
const opened = openControlPlane(path);
for (let index = 0; index < Number(count); index += 1) {
  await opened.plane.register(agent(`@${name}-${index}`), operator);
}
await opened.store.close();
