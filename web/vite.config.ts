// Builds the page into the Python package. Addresses of assets are relative, so that any path prefix serves it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

const server = process.env["PULSEBOARD_URL"] ?? "http://127.0.0.1:6006";

const page = fileURLToPath(new URL("../src/pulseboard/serve/page", import.meta.url));

/** Compresses once, as well as it goes, what the server would compress for every visitor. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    // From the disk: Vite still changes chunks while it writes them.
    closeBundle() {
      for (const name of readdirSync(page, { recursive: true, encoding: "utf8" })) {
        if (!/\.(js|css|svg)$/.test(name)) continue;
        const bytes = readFileSync(join(page, name));
        if (bytes.length < 1400) continue;
        const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
        writeFileSync(join(page, `${name}.br`), brotliCompressSync(bytes, quality));
        writeFileSync(join(page, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [svelte(), compressed()],
  build: {
    outDir: page,
    emptyOutDir: true,
    // Nothing inline: the policy is `default-src 'self'`, which forbids data: addresses too.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 300,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // Two files for the first tab instead of fifteen small ones: over a tunnel each request costs a round trip.
          groups: [
            {
              name: "charts",
              test: /uplot|(components|lib|state)\/(Chart|line_chart|ScalarCard|ScalarsToolbar|CardGroups|MeaningCard|TagFilter|near|canvas|windows|ground|meanings|restarts|tags\.svelte|path|range|reading|ticks|smoothing|stretch|download|columns)/,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { "/api": server } },
});
