// Short messages at the bottom of the page.

export interface Message {
  id: number;
  text: string;
  advice: string;
  kind: "note" | "error";
}

const MAX_SHOWN = 4;

class Messages {
  shown = $state.raw<Message[]>([]);
}

export const messages = new Messages();

export function showMessage(text: string, advice = "", kind: Message["kind"] = "note"): void {
  const message = { id: performance.now() + Math.random(), text, advice, kind };
  messages.shown = [...messages.shown.slice(1 - MAX_SHOWN), message];
  setTimeout(() => dismissMessage(message.id), kind === "error" ? 12000 : 5000);
}

/** Shows an error, with its `advice` if it has any. */
export function showError(error: unknown): void {
  const advice = error instanceof Error && "advice" in error ? String(error.advice) : "";
  showMessage(error instanceof Error ? error.message : String(error), advice, "error");
}

export function dismissMessage(id: number): void {
  messages.shown = messages.shown.filter((message) => message.id !== id);
}
