import { z } from "zod";
import {
  grantsSkill,
  offeredSkills,
  type Skill,
  type SkillRegistry,
  searchSkills,
  skillName,
  skillsBlock,
} from "../../agents/skills/skill.ts";
import { listSkillFiles, openSkillFile } from "../../agents/skills/skill-files.ts";
import { noExposure } from "../../contracts/exposure.ts";
import type { Selection } from "../../contracts/selection.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import { messageOf, reasonOf } from "../../ports/message-of.ts";
import { defineTool, type Tool, type ToolOutput } from "../tool.ts";

const listedFiles = 50;
const listedNames = 50;

/** The way from a skill's name and description, which every agent sees, to what it says. */
export function loadSkillTool(registry: SkillRegistry): Tool {
  return defineTool({
    name: "load_skill",
    description:
      "Load the instructions of one of the available skills, or one of the files that belong to " +
      "it. Load a skill before you do work that its description fits. With query in place of name " +
      "it lists the skills that fit best. Loading never runs a script.",
    effect: "read",
    // An operator trusts exactly this content.
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    changes: "none",
    choosesFrom: "skills",
    input: z.strictObject({
      name: z.string().min(1).max(256).optional().describe("As in the list of available skills."),
      file: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .describe("A file of the skill, relative to its folder; absent: its instructions."),
      query: z.string().max(500).optional().describe("Words about the work, to find a skill."),
    }),
    preflight({ file, name }, context) {
      if (name === undefined) return;
      const skill = requireGranted(registry, name, context.skills);
      if (skill !== undefined && file !== undefined) openSkillFile(skill.folder, file).close();
    },
    about: ({ name = "" }) => ({ kind: "text", values: [skillName(name)] }),
    async execute({ file, name, query = "" }, context): Promise<ToolOutput> {
      if (name === undefined) return found(registry, query, context.skills);
      const skill = requireGranted(registry, name, context.skills);
      if (skill === undefined)
        return { text: unknown(registry, name, context.skills), isError: true };
      try {
        const text = await registry.read(skill.name, file);
        return file === undefined ? withFiles(text, skill) : text || `${file} is empty.`;
      } catch (error) {
        return { text: describe(error, skill, file), isError: true };
      }
    },
  });
}

/**
 * Undefined when there is no such skill although the contract would grant it. Whether one exists
 * that is not granted is not shown to a model.
 */
function requireGranted(
  registry: SkillRegistry,
  name: string,
  granted: Selection,
): Skill | undefined {
  const skill = registry.get(name);
  const offered = () => list(registry, granted);
  if (!grantsSkill(granted, skill ?? { name: skillName(name) })) {
    throw new CallDenied(
      "skill_not_granted",
      `The contract does not grant the skill "${name}". It grants: ${offered()}.`,
    );
  }
  return skill;
}

function unknown(registry: SkillRegistry, name: string, granted: Selection): string {
  return `There is no skill "${name}". You can load: ${list(registry, granted)}.`;
}

function found(registry: SkillRegistry, query: string, granted: Selection): ToolOutput {
  if (query.trim() === "") return { text: "Error: name or query is required", isError: true };
  const skills = searchSkills(offeredSkills(registry.all(), granted), query).slice(0, listedNames);
  return skillsBlock(skills) || `No skill fits. You can load: ${list(registry, granted)}.`;
}

function list(registry: SkillRegistry, granted: Selection): string {
  const names = offeredSkills(registry.all(), granted).map(({ name }) => name);
  if (names.length === 0) return "none";
  return names.length > listedNames
    ? `${names.slice(0, listedNames).join(", ")} and ${names.length - listedNames} more`
    : names.join(", ");
}

function withFiles(body: string, { name, folder }: Skill): string {
  const text = body || `The skill "${name}" has no instructions beside its description.`;
  const { files, isCut } = listSkillFiles(folder, listedFiles);
  const others = files.filter((file) => !/^skill\.md$/i.test(file));
  if (others.length === 0) return text;
  const more = isCut ? ", and more" : "";
  return `${text}\n\n[Files of this skill, for the parameter file: ${others.join(", ")}${more}]`;
}

/** For the model: nothing of where the skill lies on this machine. */
function describe(error: unknown, { name, folder }: Skill, file = "SKILL.md"): string {
  if (error instanceof CallDenied) throw error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") {
    return `The skill "${name}" has no file "${file}". Without a file, load_skill lists them.`;
  }
  if (code === "EISDIR") return `"${file}" is a folder of the skill "${name}". Name a file in it.`;
  if (/^E[A-Z0-9]+$/.test(String(code))) {
    return `"${file}" of the skill "${name}" cannot be read: ${reasonOf(error)}.`;
  }
  return messageOf(error).replaceAll(`${folder}/`, "");
}
