// Compares the imports of the page with the table "Page" in ARCHITECTURE.md.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import { describe, expect, test } from "vitest";

const SOURCES = import.meta.dirname;
const MAX_LINES = 400;
const MAX_FILES = 20;
const GENERATED = "api/api_types.ts";

const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => /\.(ts|svelte|css)$/.test(path));
const modules = files.filter((path) => !path.endsWith(".css"));
const read = (path: string) => readFileSync(join(SOURCES, path), "utf8");

/** The folders and what they may import, from ARCHITECTURE.md. */
function allowedImports(): Map<string, string[]> {
  const text = readFileSync(join(SOURCES, "../../ARCHITECTURE.md"), "utf8");
  const section = text.split(/^## (?:The page|Page)$/m)[1]!.split(/^## /m)[0]!;
  const rows = section.split("\n").filter((line) => line.startsWith("| "));
  const cells = rows.map((row) => row.split("|").map((cell) => cell.trim().replaceAll("`", "")));
  const folders = cells.filter(([, folder]) => folder !== "Folder" && !/^-+$/.test(folder!));
  return new Map(
    folders.map(([, folder, imports]) => [
      folder!,
      imports === "nothing" ? [] : imports!.split(",").map((s) => s.trim()),
    ]),
  );
}

/** The files of the page that a file imports, dynamically too. */
function importsOf(path: string): string[] {
  const text = read(path);
  const statements = /(?:^|[^.\w])(?:import|export)\s[^"'`;]*?from\s*["']([^"']+)["']|import\s*\(?\s*["']([^"']+)["']/g;
  const specifiers = [...text.matchAll(statements)].map((match) => (match[1] ?? match[2])!);
  const relative = specifiers.filter((specifier) => specifier.startsWith("."));
  const found = relative.map((specifier) => resolve(path, specifier));
  for (const [, pattern] of text.matchAll(/import\.meta\.glob(?:<[^>]*>)?\(\s*"([^"]+)"/g)) {
    const expression = new RegExp(`^${normalize(join(dirname(path), pattern!)).replaceAll("*", "[^/]+")}$`);
    found.push(...files.filter((file) => expression.test(file)));
  }
  return found;
}

function resolve(from: string, specifier: string): string {
  const path = normalize(join(dirname(from), specifier));
  const found = [path, `${path}.ts`, `${path}/index.ts`].find((candidate) => files.includes(candidate));
  if (!found) throw new Error(`${from} imports ${specifier}, which does not exist.`);
  return found;
}

/** The first cycle in a graph, as a path from a node to itself. */
function findCycle(graph: Map<string, Set<string>>): string[] | null {
  const done = new Set<string>();
  const visit = (node: string, path: string[]): string[] | null => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return null;
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...path, node]);
      if (cycle) return cycle;
    }
    done.add(node);
    return null;
  };
  for (const node of graph.keys()) {
    const cycle = visit(node, []);
    if (cycle) return cycle;
  }
  return null;
}

/** The folder in the table; empty for files outside of all folders. */
function folderOf(path: string): string {
  return path.includes("/") ? path.split("/")[0]! : "";
}

/** The tab that a file belongs to, or null. */
function tabOf(path: string): string | null {
  const [folder, tab, ...rest] = path.split("/");
  return folder === "tabs" && rest.length > 0 ? tab! : null;
}

// A component may import itself, to draw a tree.
const graph = new Map(modules.map((path) => [path, new Set(importsOf(path).filter((other) => other !== path))]));

describe("the architecture of the page", () => {
  const allowed = allowedImports();

  test("the table lists exactly the folders that exist", () => {
    const folders = new Set(modules.map(folderOf).filter(Boolean));
    expect([...allowed.keys()].sort()).toEqual([...folders].sort());
  });

  test("folders import only what the table allows", () => {
    const forbidden = [...graph].flatMap(([path, imports]) => {
      const folder = folderOf(path);
      if (folder === "") return [];
      const permitted = [folder, ...allowed.get(folder)!];
      return [...imports].filter((other) => !permitted.includes(folderOf(other))).map((other) => `${path} -> ${other}`);
    });
    expect(forbidden).toEqual([]);
  });

  test("tabs do not import each other", () => {
    const forbidden = [...graph].flatMap(([path, imports]) =>
      [...imports]
        .filter((other) => tabOf(path) !== null && tabOf(other) !== null && tabOf(path) !== tabOf(other))
        .map((other) => `${path} -> ${other}`),
    );
    expect(forbidden).toEqual([]);
  });

  test("there are no cycles between files", () => {
    expect(findCycle(graph)).toBeNull();
  });

  test("there are no cycles between folders", () => {
    const folders = new Map<string, Set<string>>();
    for (const [path, imports] of graph) {
      // The registry imports the tabs, and they import the type in tabs/tab.ts, so treat that file as a folder.
      const folder = (file: string) => (file === "tabs/tab.ts" ? file : dirname(file));
      const targets = folders.get(folder(path)) ?? new Set();
      for (const other of imports) if (folder(other) !== folder(path)) targets.add(folder(other));
      folders.set(folder(path), targets);
    }
    expect(findCycle(folders)).toBeNull();
  });

  test("the parser of imports sees all kinds of imports", () => {
    expect(importsOf("tabs/registry.ts")).toContain("tabs/scalars/index.ts");
    expect(importsOf("tabs/scalars/index.ts")).toContain("tabs/scalars/Scalars.svelte");
    expect(importsOf("App.svelte")).toContain("state/view.svelte.ts");
    expect(importsOf("charts/readings.ts")).toContain("api/columns.ts");
    expect(importsOf("main.ts")).toContain("ui/styles/theme.css");
    expect(
      findCycle(
        new Map([
          ["a", new Set(["b"])],
          ["b", new Set(["a"])],
        ]),
      ),
    ).toEqual(["a", "b", "a"]);
  });
});

test("files and folders stay small", () => {
  const long = files.filter((path) => path !== GENERATED && read(path).split("\n").length - 1 > MAX_LINES);
  expect(long).toEqual([]);
  const counts = new Map<string, number>();
  for (const path of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
});
