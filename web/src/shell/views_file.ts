// Saved views in a file, as the server writes it.

/** The views in a file by name. Throws if it is not such a file. */
export function viewsInFile(text: string): Record<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = null;
  }
  const views = (parsed as { views?: unknown } | null)?.views;
  if (!Array.isArray(views)) throw new Error('This file has no views. Choose one that "Save all as a file" wrote.');
  return Object.fromEntries(
    (views as { name?: unknown; hash?: unknown }[]).flatMap(({ name, hash }) =>
      typeof name === "string" && typeof hash === "string" ? [[name, hash]] : [],
    ),
  );
}
