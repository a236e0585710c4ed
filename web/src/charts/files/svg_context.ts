// A canvas that writes SVG, for the part of a canvas's interface that charts use.

import type { DrawingContext } from "../drawing/plot_area";

/** Draws to SVG. `idPrefix` must be unique among the drawings of a document. */
export class SvgContext implements DrawingContext {
  strokeStyle: string | CanvasGradient | CanvasPattern = "black";
  fillStyle: string | CanvasGradient | CanvasPattern = "black";
  lineWidth = 1;
  lineJoin: CanvasLineJoin = "round";
  font = "11px sans-serif";
  textAlign: CanvasTextAlign = "left";
  private elements: string[] = [];
  private path = "";
  private dash: number[] = [];
  private clips = 0;
  private openGroups: number[] = [];

  constructor(private idPrefix: string) {}

  /** Everything drawn so far, as elements. */
  get markup(): string {
    return this.elements.join("");
  }

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `${this.path === "" ? "M" : "L"}${short(x)} ${short(y)}`;
  }

  closePath(): void {
    this.path += "Z";
  }

  /** A whole circle: charts draw no other arcs. */
  arc(x: number, y: number, radius: number): void {
    const half = `A${short(radius)} ${short(radius)} 0 1 0 `;
    this.path += `M${short(x + radius)} ${short(y)}${half}${short(x - radius)} ${short(y)}${half}`;
    this.path += `${short(x + radius)} ${short(y)}`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.elements.push(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" ` +
        `${paint("fill", this.fillStyle)}/>`,
    );
  }

  fill(): void {
    if (this.path !== "") this.elements.push(`<path d="${this.path}" ${paint("fill", this.fillStyle)}/>`);
  }

  stroke(): void {
    if (this.path === "") return;
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map(short).join(" ")}"` : "";
    this.elements.push(
      `<path d="${this.path}" fill="none" ${paint("stroke", this.strokeStyle)} ` +
        `stroke-width="${short(this.lineWidth)}" stroke-linejoin="${this.lineJoin}"${dash}/>`,
    );
  }

  setLineDash(dash: number[]): void {
    this.dash = dash;
  }

  save(): void {
    this.openGroups.push(0);
  }

  /** Clips what follows to the path, until `restore`. */
  clip(): void {
    const id = `${this.idPrefix}-clip${this.clips++}`;
    this.elements.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
    if (this.openGroups.length > 0) this.openGroups[this.openGroups.length - 1]! += 1;
  }

  restore(): void {
    this.elements.push("</g>".repeat(this.openGroups.pop() ?? 0));
  }

  fillText(text: string, x: number, y: number): void {
    const size = /(\d+)px/.exec(this.font)?.[1] ?? "11";
    const weight = /^(\d{3}) /.exec(this.font)?.[1] ?? "400";
    const anchor = { center: "middle", right: "end", end: "end", left: "start", start: "start" }[this.textAlign];
    this.elements.push(
      `<text x="${short(x)}" y="${short(y)}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}" ` +
        `${paint("fill", this.fillStyle)}>${escapeXml(text)}</text>`,
    );
  }
}

function short(value: number): string {
  return String(+value.toFixed(1));
}

/** A color as attributes. Some programs do not read colors with an alpha channel. */
function paint(attribute: "fill" | "stroke", color: string | CanvasGradient | CanvasPattern): string {
  if (typeof color !== "string") return `${attribute}="none"`;
  if (!/^#[0-9a-f]{8}$/i.test(color)) return `${attribute}="${color}"`;
  const opacity = parseInt(color.slice(7), 16) / 255;
  return `${attribute}="${color.slice(0, 7)}" ${attribute}-opacity="${+opacity.toFixed(3)}"`;
}

/** Text that is safe in XML and HTML. Control characters are dropped. */
export function escapeXml(text: string): string {
  return (
    text
      .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
      // eslint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "")
  );
}
