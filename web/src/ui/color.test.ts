import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { colorOnScale, contrast, longHex, withAlpha } from "./color";

const SOURCES = join(import.meta.dirname, "..");

test("known colors are converted correctly", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
  expect(withAlpha("#102030", 0.5)).toBe("#10203080");
  expect([longHex("#1af"), longHex("#102030")]).toEqual(["#11aaff", "#102030"]);
  const scale = ["#000000", "#102030", "#ffffff"];
  expect([0, 0.25, 0.5, 1].map((position) => colorOnScale(scale, position))).toEqual([
    "#000000",
    "#081018",
    "#102030",
    "#ffffff",
  ]);
});

test("theme.css is the only file that spells out colors", () => {
  const color = /#[0-9a-f]{3,8}\b(?=["'`;,) ])|\b(rgba?|hsla?|oklch)\(\s*\d/gi;
  const found = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => /\.(ts|svelte|css)$/.test(path) && !path.endsWith(".test.ts"))
    .filter((path) => path !== "ui/styles/theme.css" && path !== "api/api_types.ts")
    .flatMap((path) =>
      [...readFileSync(join(SOURCES, path), "utf8").matchAll(color)].map(([text]) => `${path}: ${text}`),
    );
  expect(found).toEqual([]);
});

test("both themes define the same colors", () => {
  const css = readFileSync(join(SOURCES, "ui/styles/theme.css"), "utf8");
  const names = (block: string) => [...block.matchAll(/--([\w-]+): [^;]*(#|rgb)/g)].map((match) => match[1]!).sort();
  const [light, dark] = css.split(':root[data-theme="dark"]') as [string, string];
  expect(names(light).length).toBeGreaterThan(15);
  expect(names(dark).filter((name) => !names(light).includes(name))).toEqual([]);
  expect(names(light).filter((name) => !dark.includes(`--${name}:`))).toEqual([]);
});
