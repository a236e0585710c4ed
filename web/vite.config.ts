// Builds the page into the Python package. URLs of assets are relative, so the page works behind any path prefix.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

const server = process.env["PULSEBOARD_URL"] ?? "http://127.0.0.1:6006";

const outDir = fileURLToPath(new URL("../src/pulseboard/serve/page", import.meta.url));

/** Compresses the assets once, as well as possible, so that the server does not have to for every request. */
function compressAssets(): Plugin {
  return {
    name: "compress-assets",
    apply: "build",
    // Read from disk, because Vite still changes chunks while it writes them.
    closeBundle() {
      for (const name of readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
        if (!/\.(js|css|svg)$/.test(name)) continue;
        const bytes = readFileSync(join(outDir, name));
        // Smaller files fit into one packet anyway.
        if (bytes.length < 1400) continue;
        const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
        writeFileSync(join(outDir, `${name}.br`), brotliCompressSync(bytes, quality));
        writeFileSync(join(outDir, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [svelte(), compressAssets()],
  build: {
    outDir,
    emptyOutDir: true,
    // No inlining: the content security policy is `default-src 'self'`, which forbids data URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 300,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // Two files for the first tab instead of fifteen small ones: over a tunnel each request costs a round trip.
          // What only other tabs need stays out of them.
          groups: [
            { name: "charts", test: /uplot|src\/(charts|tabs\/scalars|cards\/(?!one_run|key_tags)|api\/columns)/ },
          ],
        },
      },
    },
  },
  server: { proxy: { "/api": server } },
});
