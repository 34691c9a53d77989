// Stand-alone child of `_interpreter`: evaluates JavaScript assertions, one JSON line in, one out.
// In: {id, names, assertions, limit_ms}; out: {id, results} with null for a pass and the text of what
// went wrong for the rest. It keeps assertions from harming waza by mistake. It is no sandbox.
"use strict";

const readline = require("node:readline");
const vm = require("node:vm");

const LONGEST = 1000; // characters of an exception's text
const FALSY = "falsy";

// An event speaks of an error in its type or in its content, as text.
function isError(event) {
  return [event.type, event.content].some((part) => {
    const text = typeof part === "string" ? part : JSON.stringify(part ?? "");
    return text.includes("error");
  });
}

// One context for one grading: what an assertion declares, later ones see. The data is parsed inside,
// so that `tool_calls instanceof Array` holds; no object of this file gets in.
function contextOf(names) {
  const data = {
    ...names,
    output_length: [...(names.output ?? "")].length, // characters, as in Python
    errors: (names.transcript ?? []).filter(isError),
    True: true,
    False: false,
  };
  const context = vm.createContext(Object.create(null), { microtaskMode: "afterEvaluate" });
  const text = JSON.stringify(JSON.stringify(data));
  vm.runInContext(`Object.assign(globalThis, JSON.parse(${text}));`, context);
  return context;
}

function described(error) {
  try {
    const text = error?.name ? `${error.name}: ${error.message}` : `Error: ${String(error)}`;
    return text.slice(0, LONGEST);
  } catch {
    return "Error"; // a thrown object of the assertion's own making may do anything
  }
}

function outcome(assertion, context, limit) {
  try {
    const value = vm.runInContext(assertion, context, { filename: "assertion", timeout: limit });
    return value ? null : FALSY;
  } catch (error) {
    return described(error);
  }
}

// A promise that an assertion leaves behind must not end the process.
process.on("unhandledRejection", () => {});

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, names, assertions, limit_ms: limit } = JSON.parse(line);
  const context = contextOf(names);
  const results = assertions.map((assertion) => outcome(assertion, context, limit));
  process.stdout.write(`${JSON.stringify({ id, results })}\n`);
});
