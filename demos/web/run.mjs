// Lives 1,000 ticks of a demo in the wasm module and prints the hash of the world.
//
//   node demos/web/run.mjs MODULE [DEMO] [AGENTS] [SEED] [TICKS]
import { readFileSync } from "node:fs";

const [module, demo = "dungeon", agents = "200", seed = "1", ticks = "1000"] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(module), { page: { now_ms: () => performance.now() } });
const { exports } = instance;

function ask(method, path, body) {
  const text = `${method} ${path}\n${body === undefined ? "" : JSON.stringify(body)}`;
  const bytes = new TextEncoder().encode(text);
  const at = exports.formic_inbox(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const length = exports.formic_answer();
  const from = exports.formic_outbox();
  return JSON.parse(new TextDecoder().decode(exports.memory.buffer.slice(from, from + length)));
}

if (exports.formic_open(200, 1n) !== 1) throw new Error("it does not open");
const opened = ask("POST", "/api/open", { demo, agents: Number(agents), seed });
if (opened.error) throw new Error(opened.error);
ask("POST", "/api/step", { what: "tick", count: Number(ticks) });
exports.formic_live(0, Number(ticks));
const state = ask("GET", "/api/state");
const { check } = ask("GET", "/api/check");
console.log(JSON.stringify({ demo, tick: state.tick, state_hash: state.state_hash, check }));
