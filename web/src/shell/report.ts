// Saves the current view as a self-contained HTML file: images instead of canvases, inline styles, no scripts.

import { renderMarkdown } from "../api/client";
import { frameQueue } from "../charts/drawing/frame_queue";
import { chartIn } from "../charts/files/picture";
import { escapeXml } from "../charts/files/svg_context";
import { runList } from "../runs/run_list.svelte";
import { STATUS_WORDS } from "../runs/status_words";
import { diagnosis } from "../state/diagnosis.svelte";
import { page } from "../state/page.svelte";
import { runIndex, runLabel } from "../state/runs.svelte";
import { server } from "../state/server.svelte";
import { FALLBACK_TAB } from "../state/view/view";
import { view, viewLink } from "../state/view.svelte";
import { tabById } from "../tabs/registry";
import { healthOf, sortByHealth } from "../tabs/health/run_health";
import { verdictOf } from "../tabs/health/verdict";
import { showError, showMessage } from "../ui/messages.svelte";
import { fileName, saveFile } from "../ui/save_file";
import { formatTime } from "../ui/text/format";
import { theme } from "../ui/theme.svelte";

const MAX_WAIT_MS = 60_000;
/** Controls make no sense in a file without scripts. */
const CONTROLS =
  "script, button.icon-button, button.button, .segments, label:has(input, select), .u-over, .u-under, .u-legend, " +
  "input, select, textarea, audio, [data-no-report], .skeleton";

/** The copy scrolls as a page, and its charts are pictures that shrink with their cards instead of being cut. */
const REPORT_STYLES = `
html, body { height: auto; overflow: auto }
main { overflow: visible; max-width: 1500px; margin: auto }
.report-head { padding: 16px 16px 0 }
.report-verdicts { max-width: 1500px; margin: 12px auto; padding: 0 16px; list-style: none }
.report-verdicts li { padding: 2px 0; overflow-wrap: anywhere }
.report-text { max-width: 1500px; margin: 12px auto; padding: 0 16px }
.report-picture { max-width: 100% }
.chart .report-picture { display: block; width: 100%; height: 100%; object-fit: contain }
article.card.scalar { height: auto; content-visibility: visible }
article.card.scalar .plot { flex: none }
article.card.scalar .plot > .middle { height: 236px }
article.card.scalar .report-picture { height: auto }
article.card.scalar .legend, article.card.scalar .steps { height: auto; overflow: visible }
@media print {
  @page { margin: 12mm }
  body { background: none }
  .card, article, .report-verdicts li { break-inside: avoid; box-shadow: none }
  h1, h2, h3 { break-after: avoid }
  .cards { display: grid; grid-template-columns: 1fr 1fr }
}`;

/** Draws the cards outside the view too, then saves the main part of the page. */
export async function exportReport(): Promise<void> {
  page.exporting = true;
  showMessage("Creating the report…");
  const main = document.getElementById("main");
  if (!main) return;
  try {
    await waitForCards(main);
    const body = verdicts() + (await texts()) + (await staticCopy(main));
    const now = formatTime(Date.now() / 1000);
    const title = `${server.status?.title ?? "Pulseboard"}: ${tabById(view.tab ?? FALLBACK_TAB).label}`;
    const html =
      `<!doctype html>\n<html lang="en" data-theme="${theme.current}"><head><meta charset="utf-8">` +
      `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeXml(title)}</title>` +
      `<style>${pageStyles()}\n${REPORT_STYLES}</style></head><body>` +
      `<header class="report-head"><h1>${escapeXml(title)}</h1><p class="dim">${escapeXml(now)} · ` +
      `${origin()}</p></header>${body}</body></html>`;
    saveFile(fileName(title, "html"), html, "text/html");
    showMessage("Report saved.");
  } catch (error) {
    showError(error);
  } finally {
    page.exporting = false;
  }
}

/** A link to the live view; if nobody else can follow it, the directories that the report was made from. */
function origin(): string {
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  if (!local) return `<a href="${escapeXml(viewLink())}">open the live view</a>`;
  return escapeXml(server.status?.directories.join(", ") ?? "");
}

/** The verdict on each drawn run, as a list. The Health tab shows the verdicts itself. */
function verdicts(): string {
  if (view.tab === "health") return "";
  const shown = runList.visible
    .map((name) => runIndex.byName.get(name)!)
    .map((run) => healthOf(run, diagnosis.reportOf(run.name)));
  const items = sortByHealth(shown).flatMap((health) => {
    const verdict = verdictOf(health);
    if (verdict === null || health.status === null) return [];
    const next = verdict.next === null ? [] : [`next: ${verdict.next}`];
    // As text: the marks around code would be shown.
    const text = [verdict.headline, ...verdict.facts, ...next].join(" · ").replaceAll("`", "");
    const status = `<span class="badge ${health.status}">${STATUS_WORDS[health.status]}</span>`;
    return [`<li>${status} <b>${escapeXml(runLabel(health.run.name))}</b>: ${escapeXml(text)}</li>`];
  });
  return items.length > 0 ? `<ul class="report-verdicts">${items.join("")}</ul>` : "";
}

/** The user's text blocks. The Scalars tab shows them itself, among the charts. */
async function texts(): Promise<string> {
  if (view.tab === FALLBACK_TAB) return "";
  const blocks = view.panels.flatMap((panel) => ("text" in panel ? [panel.text] : []));
  const rendered = await Promise.all(blocks.map(renderMarkdown));
  return rendered.map((html) => `<section class="report-text prose">${html}</section>`).join("");
}

/** Waits until every card has its data, but not forever. */
async function waitForCards(main: HTMLElement): Promise<void> {
  const end = performance.now() + MAX_WAIT_MS;
  do {
    await new Promise((resolve) => setTimeout(resolve, 250));
  } while (main.querySelector("[data-waiting]") && performance.now() < end);
  // New charts learn their size in the first frame, and ask to be drawn.
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  await frameQueue.idle();
}

function pageStyles(): string {
  const rules: string[] = [];
  for (const sheet of document.styleSheets) {
    try {
      for (const rule of sheet.cssRules) rules.push(rule.cssText);
    } catch {
      // A style sheet of a browser extension.
    }
  }
  return rules.join("\n").replaceAll("</", "<\\/");
}

/** A copy of the page with images in place of canvases and without controls, as HTML. */
async function staticCopy(main: HTMLElement): Promise<string> {
  // In a separate document, where nothing is loaded: the page's content security policy forbids data URLs.
  const inert = document.implementation.createHTMLDocument("");
  const copy = inert.importNode(main, true);
  // Line charts are drawn again as SVG, which is sharp at any size and on paper.
  const hosts = [...main.querySelectorAll(".chart")];
  [...copy.querySelectorAll(".chart")].forEach((host, i) => {
    const svg = chartIn(hosts[i]!, `chart${i}`);
    if (svg === null) return;
    const image = inert.createElement("img");
    image.src = `data:image/svg+xml;base64,${base64(svg)}`;
    image.width = hosts[i]!.clientWidth;
    image.height = hosts[i]!.clientHeight;
    image.alt = hosts[i]!.getAttribute("aria-label")?.split(". ")[0] ?? "";
    image.className = "report-picture";
    host.replaceChildren(image);
    host.removeAttribute("tabindex");
    host.removeAttribute("role");
    host.removeAttribute("aria-label");
  });
  const canvases = [...main.querySelectorAll("canvas")].filter((canvas) => !canvas.closest(".chart"));
  [...copy.querySelectorAll("canvas")].forEach((canvas, i) => {
    const source = canvases[i]!;
    if (source.width === 0 || source.height === 0) return canvas.remove();
    const image = inert.createElement("img");
    image.src = source.toDataURL("image/png");
    image.width = source.clientWidth;
    image.height = source.clientHeight;
    image.alt = source.closest("[aria-label]")?.getAttribute("aria-label") ?? "";
    image.className = "report-picture";
    return canvas.replaceWith(image);
  });
  await Promise.all(
    [...copy.querySelectorAll<HTMLImageElement>("img[src]:not([src^='data:'])")].map(async (image) => {
      try {
        const url = new URL(image.getAttribute("src")!, location.href);
        image.src = await dataUrl(await (await fetch(url)).blob());
      } catch {
        image.remove();
      }
    }),
  );
  for (const element of copy.querySelectorAll(CONTROLS)) element.remove();
  // Buttons that also show something become plain text.
  for (const button of copy.querySelectorAll("button")) {
    const plain = inert.createElement("span");
    plain.className = button.className;
    plain.append(...button.childNodes);
    button.replaceWith(plain);
  }
  for (const element of copy.querySelectorAll("*")) {
    for (const { name } of [...element.attributes]) if (name.startsWith("on")) element.removeAttribute(name);
  }
  return copy.outerHTML;
}

function base64(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("The image could not be read."));
    reader.readAsDataURL(blob);
  });
}
