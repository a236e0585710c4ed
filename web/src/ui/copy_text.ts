// Copies text to the clipboard and says so.

import { showMessage } from "./messages.svelte";

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showMessage("Copied.", text);
  } catch {
    showMessage("The browser did not allow copying.", "Select the text and copy it.", "error");
  }
}
