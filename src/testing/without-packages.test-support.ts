import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * What a program prints where these packages are not installed; their names are given as they are
 * imported. It runs in src/.
 */
export function withoutPackages(names: readonly string[], program: string): string {
  const hooks = `
    import { registerHooks } from "node:module";
    registerHooks({ resolve(name, context, next) {
      if (!${JSON.stringify(names)}.includes(name)) return next(name, context);
      const text = "Cannot find package '" + name + "' imported from " + context.parentURL;
      throw Object.assign(new Error(text), { code: "ERR_MODULE_NOT_FOUND" });
    } });`;
  const guarded = `try { ${program} } catch (error) { console.log(error.name, error.message); }`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      ...["--import", `data:text/javascript,${encodeURIComponent(hooks)}`],
      ...["--input-type=module", "-e", guarded],
    ],
    { encoding: "utf8", cwd: fileURLToPath(new URL("..", import.meta.url)) },
  );
  return `${stdout}${stderr}`;
}
