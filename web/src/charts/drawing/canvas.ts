// A canvas that is as sharp as the screen and is redrawn when its size changes.

/** An attachment that draws now, and again when the canvas is resized. */
export function drawOnCanvas(draw: (context: CanvasRenderingContext2D, width: number, height: number) => void) {
  return (canvas: HTMLCanvasElement): (() => void) => {
    const redraw = () => {
      const { clientWidth: width, clientHeight: height } = canvas;
      if (width === 0 || height === 0) return;
      const ratio = devicePixelRatio || 1;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      const context = canvas.getContext("2d");
      if (!context) return;
      context.scale(ratio, ratio);
      draw(context, width, height);
    };
    const observer = new ResizeObserver(redraw);
    observer.observe(canvas);
    redraw();
    return () => observer.disconnect();
  };
}
