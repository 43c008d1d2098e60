/** Hosts that are programs: in a home of their own, with files to read, against a scripted provider. */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { STEPS } from "./judge.mjs";
import { OUTPUT } from "./session.mjs";

/** Milliseconds after which a host hangs; on a busy machine, a session of opencode takes minutes. */
const LIMIT = 600_000;

/** Where npm has put a package. */
export const MODULES = path.join(import.meta.dirname, "../node_modules");

/** A home with a folder of files to read, and the package beside it; `files` are more, by their path in that folder. */
export function place(files) {
  const home = mkdtempSync(path.join(tmpdir(), "codelet-host-"));
  const work = path.join(home, "work");
  const write = (name, text) => {
    mkdirSync(path.dirname(path.join(work, name)), { recursive: true });
    writeFileSync(path.join(work, name), text);
  };
  for (let step = 0; step < STEPS; step += 1) write(`file${step}.txt`, `run ${step}: ${OUTPUT}`);
  for (const [name, text] of Object.entries(files)) write(name, text);
  symlinkSync(path.join(import.meta.dirname, "node_modules"), path.join(home, "node_modules"));
  return {
    home,
    work,
    write,
    file: (step) => path.join(work, `file${step}.txt`),
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** Runs a program in a place; what it said, once it has ended well. */
export async function run({ home, work }, program, args, variables) {
  const env = { PATH: process.env.PATH, HOME: home, ...variables };
  const child = spawn(program, args, { cwd: work, env, stdio: ["ignore", "pipe", "pipe"], timeout: LIMIT });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const [code, signal] = await new Promise((done, failed) => child.on("close", (...how) => done(how)).on("error", failed));
  if (code !== 0) throw new Error(`${path.basename(program)} ended with ${code ?? signal}: ${said.slice(-2_000)}`);
  return said;
}
