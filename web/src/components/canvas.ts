// A canvas as sharp as the screen, drawn again when its size changes.

/** An attachment: draws now, and again when the element is resized. */
export function painted(paint: (pen: CanvasRenderingContext2D, width: number, height: number) => void) {
  return (canvas: HTMLCanvasElement): (() => void) => {
    const draw = () => {
      const { clientWidth: width, clientHeight: height } = canvas;
      if (width === 0 || height === 0) return;
      const ratio = devicePixelRatio || 1;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      const pen = canvas.getContext("2d");
      if (!pen) return;
      pen.scale(ratio, ratio);
      paint(pen, width, height);
    };
    const observer = new ResizeObserver(draw);
    observer.observe(canvas);
    draw();
    return () => observer.disconnect();
  };
}
