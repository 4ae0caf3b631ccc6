// Painting on a picture: strokes by pointer or keyboard, at the picture's own resolution.

export class Painting {
  /**
   * @param canvas shows the picture
   * @param image what is painted on
   * @param options size() of the brush in pixels; tool(), which is "hide", "uncover" or a colour;
   *   onChange() after strokes
   */
  constructor(canvas, image, options) {
    Object.assign(this, { canvas, image, options, isPainted: false });
    canvas.width = image.width;
    canvas.height = image.height;
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    this.restore();
    let last = null;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [((event.clientX - box.left) * canvas.width) / box.width, ((event.clientY - box.top) * canvas.height) / box.height];
    };
    canvas.onpointerdown = (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      last = place(event);
      this.stroke(last, last);
    };
    canvas.onpointermove = (event) => {
      if (!last) return;
      const now = place(event);
      this.stroke(last, now);
      last = now;
    };
    canvas.onpointerup = canvas.onpointercancel = () => (last = null);
    this.attachKeys();
  }

  /** With the keyboard: arrows move the brush, Enter or space paints where it is. */
  attachKeys() {
    let at = [this.canvas.width / 2, this.canvas.height / 2];
    this.canvas.onkeydown = (event) => {
      const step = Math.max(1, Math.round(this.options.size() / 2));
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!way && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      const next = way ? [at[0] + step * way[0], at[1] + step * way[1]] : at;
      if (!way || event.shiftKey) this.stroke(at, next);
      at = next;
    };
  }

  stroke(from, to) {
    const tool = this.options.tool();
    this.context.save();
    if (tool === "uncover") this.uncover(from, to);
    else {
      Object.assign(this.context, { lineCap: "round", lineWidth: this.options.size(), strokeStyle: "#fff" });
      if (tool === "hide") this.context.globalCompositeOperation = "destination-out";
      else this.context.strokeStyle = tool;
      this.context.beginPath();
      this.context.moveTo(...from);
      this.context.lineTo(to[0] + 0.01, to[1]); // a point is a line, if short
      this.context.stroke();
    }
    this.context.restore();
    this.isPainted = true;
    this.options.onChange();
  }

  /** Show the picture again along a stroke. */
  uncover(from, to) {
    const radius = this.options.size() / 2;
    const steps = Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1])) + 1;
    this.context.beginPath();
    for (let i = 0; i <= steps; i += 1) {
      const [x, y] = [from[0] + ((to[0] - from[0]) * i) / steps, from[1] + ((to[1] - from[1]) * i) / steps];
      this.context.moveTo(x + radius, y);
      this.context.arc(x, y, radius, 0, 7);
    }
    this.context.clip();
    this.context.drawImage(this.image, 0, 0);
  }

  /** Forget all strokes. */
  restore() {
    this.context.globalCompositeOperation = "copy";
    this.context.drawImage(this.image, 0, 0);
    this.context.globalCompositeOperation = "source-over";
    this.isPainted = false;
  }

  /** Which pixels are missing, row by row: those that are not opaque. */
  missing() {
    const { data } = this.context.getImageData(0, 0, this.canvas.width, this.canvas.height);
    return Array.from({ length: data.length / 4 }, (_, i) => data[4 * i + 3] < 128);
  }

  /** The mask as a picture, white where pixels are missing, as the command takes it. */
  async maskPicture() {
    const canvas = new OffscreenCanvas(this.canvas.width, this.canvas.height);
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(canvas.width, canvas.height);
    this.missing().forEach((isMissing, i) => pixels.data.set(isMissing ? [255, 255, 255, 255] : [0, 0, 0, 255], 4 * i));
    context.putImageData(pixels, 0, 0);
    return canvas.convertToBlob({ type: "image/png" });
  }
}

/** Pack booleans into bytes, the first into the largest bit, as base64. */
export function bitsOf(flags) {
  const bytes = new Uint8Array(Math.ceil(flags.length / 8));
  flags.forEach((flag, i) => (bytes[i >> 3] |= flag ? 128 >> (i & 7) : 0));
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}
