import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = import.meta.dirname;

export default defineConfig({
  root: here,
  plugins: [react(), tailwindcss()],
  resolve: {
    alias: [{ find: "node:crypto", replacement: `${here}/src/data/no-hashes.ts` }],
  },
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    // The content security policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2023",
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
    reportCompressedSize: false,
  },
});
