import { defineConfig } from "vite";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: { outDir: "../src/waza/dashboard/static", emptyOutDir: true, target: "es2022" },
});
