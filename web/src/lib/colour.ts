// Colours of runs: chosen by the run's name, so that a run keeps its colour from day to day and page to page.

export type Theme = "light" | "dark";

const HUES = [255, 45, 150, 315, 75, 225, 15, 105, 285, 180, 345, 130];
// Lightness and chroma of each ring of hues: readable as a thin line on the ground of its theme.
const RINGS: Record<Theme, [number, number][]> = {
  light: [
    [0.55, 0.16],
    [0.44, 0.13],
    [0.6, 0.13],
  ],
  dark: [
    [0.74, 0.14],
    [0.64, 0.16],
    [0.84, 0.1],
  ],
};
export const SLOTS = HUES.length * 3;

const PALETTES: Record<Theme, string[]> = { light: palette("light"), dark: palette("dark") };

function palette(theme: Theme): string[] {
  return RINGS[theme].flatMap(([lightness, chroma], ring) =>
    // Neighbours on the wheel differ in lightness too, so that brown and red, or two greens, stay apart.
    HUES.map((hue) => oklchToHex(lightness + (Math.floor(hue / 30) % 2 ? 0.04 : -0.05), chroma, hue + ring * 12)),
  );
}

/** FNV-1a, 32 bits: small, and spreads names that differ in one digit. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/**
 * A slot of the palette for each name, in the order given. A name whose own slot is taken gets the next free one, so
 * that the runs which came first keep theirs when another comes. With more names than slots the hash alone decides.
 */
export function assignSlots(names: string[]): Map<string, number> {
  const slots = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of names) {
    const hash = hashOf(name);
    let slot = hash % SLOTS;
    // The first ring of hues is the clearest: it is filled before the second.
    const ring = Math.floor(taken.size / HUES.length);
    if (ring < SLOTS / HUES.length) {
      let hue = hash % HUES.length;
      while (taken.has(ring * HUES.length + hue)) hue = (hue + 1) % HUES.length;
      slot = ring * HUES.length + hue;
      taken.add(slot);
    }
    slots.set(name, slot);
  }
  return slots;
}

/** The colour of a slot on a theme's ground. */
export function slotColour(slot: number, theme: Theme): string {
  return PALETTES[theme][slot % SLOTS]!;
}

/** `#rrggbb` with an alpha, as canvas and CSS take it. */
export function withAlpha(hex: string, alpha: number): string {
  const value = Math.round(Math.max(0, Math.min(1, alpha)) * 255);
  return hex.length === 7 ? hex + value.toString(16).padStart(2, "0") : hex;
}

/** The ratio of contrast of two colours, 1 to 21, as WCAG counts it. */
export function contrast(a: string, b: string): number {
  const [bright, dim] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (bright + 0.05) / (dim + 0.05);
}

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** A colour of the perceptual space OKLCH as `#rrggbb`; chroma is lowered until the screen can show it. */
export function oklchToHex(lightness: number, chroma: number, hue: number): string {
  const angle = (hue * Math.PI) / 180;
  for (let c = chroma; ; c -= 0.01) {
    const rgb = oklabToLinear(lightness, c * Math.cos(angle), c * Math.sin(angle));
    if (c <= 0 || rgb.every((v) => v >= -0.0005 && v <= 1.0005)) {
      return "#" + rgb.map((v) => gammaByte(v).toString(16).padStart(2, "0")).join("");
    }
  }
}

function oklabToLinear(lightness: number, a: number, b: number): number[] {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function gammaByte(linear: number): number {
  const clipped = Math.max(0, Math.min(1, linear));
  const value = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055;
  return Math.round(value * 255);
}
