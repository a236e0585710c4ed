// Files that the user downloads.

/** Makes a file name that every file system accepts. */
export function fileName(text: string, extension: string): string {
  const plain = text.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[_.]+|_+$/g, "");
  return `${plain.slice(0, 80) || "chart"}.${extension}`;
}

/** Downloads data under a name. */
export function saveFile(name: string, data: Blob | string, type = "text/plain"): void {
  const blob = typeof data === "string" ? new Blob([data], { type }) : data;
  const url = URL.createObjectURL(blob);
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
