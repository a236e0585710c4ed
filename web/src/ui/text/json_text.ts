// Texts that are JSON, such as the settings that trainers log.

/** Whether a text is a JSON object or array. Markdown would join its lines. */
export function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
