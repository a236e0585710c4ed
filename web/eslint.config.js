// Lint rules. Prettier takes care of formatting.
import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import { defineConfig } from "eslint/config";
import globals from "globals";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

export default defineConfig(
  { ignores: ["node_modules/", "src/api/api_types.ts"] },
  js.configs.recommended,
  ts.configs.recommended,
  svelte.configs.recommended,
  svelte.configs.prettier,
  {
    languageOptions: { globals: { ...globals.browser } },
    rules: {
      // TypeScript checks this better.
      "no-undef": "off",
      "no-unused-vars": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      // `array[index]!` after a check of the index is common here.
      "@typescript-eslint/no-non-null-assertion": "off",
      eqeqeq: "error",
      "prefer-const": "error",
      "no-console": "error",
    },
  },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { extraFileExtensions: [".svelte"], parser: ts.parser, svelteConfig } },
    rules: {
      // Code examples contain quotes, which attributes would have to escape.
      "svelte/no-useless-mustaches": "off",
      // Sets and maps in state are replaced, not changed.
      "svelte/prefer-svelte-reactivity": "off",
      "prefer-const": "off",
      "svelte/prefer-const": ["error", { excludedRunes: ["$props", "$derived", "$state"] }],
    },
  },
);
