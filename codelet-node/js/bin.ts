#!/usr/bin/env node
/** `npx codelet`: runs the program that the platform's package holds, and ends as it ends. */

import { spawn } from "node:child_process";
import { PACKAGE } from "./native.js";

function program(): string {
  try {
    return require.resolve(`${PACKAGE}/bin/codelet`);
  } catch {
    console.error(`codelet: no build for this platform: the optional dependency ${PACKAGE} is not installed`);
    return process.exit(1);
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const) {
  // From the terminal it comes to both; it is the program that decides.
  process.on(signal, () => (signal === "SIGINT" || signal === "SIGQUIT" ? undefined : child.kill(signal)));
}
child.on("error", (error) => {
  console.error(`codelet: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
