import { defineConfig } from "vite";

// One script and one style sheet under fixed names: `waza report` puts both into its page (see src/data.ts).
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/waza/dashboard/static",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // they have light-dark(), which is then left as it is
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/index.js",
        assetFileNames: "assets/index[extname]",
        codeSplitting: false,
      },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:3000" } },
});
