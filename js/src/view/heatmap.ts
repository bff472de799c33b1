import type { Heatmap, OutputReport } from '../contract';
import { type Child, h } from './dom';
import { formatIndex, formatNumber } from './units';

const WRONG = [207, 34, 46] as const;
const NOT_FINITE = [130, 80, 223] as const;
const FAINTEST = 1e-3; // of the largest |error|: what is below counts as right and stays clear

/** RGBA of every cell: opacity follows the decades below the largest |error|; not finite is violet. */
export function heatmapPixels({ data }: Heatmap): Uint8ClampedArray<ArrayBuffer> {
  const largest = data.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const pixels = new Uint8ClampedArray(4 * data.length);
  data.forEach((value, i) => {
    pixels.set(value === null ? NOT_FINITE : WRONG, 4 * i);
    pixels[4 * i + 3] = value === null ? 255 : opacity(value / largest);
  });
  return pixels;
}

function opacity(share: number): number {
  if (!(share >= FAINTEST)) return 0;
  return 255 * (1 + (0.8 * Math.log10(share)) / -Math.log10(FAINTEST));
}

/** The picture of |error| over the tensor, with words for those who do not see it. */
export function renderHeatmap(output: OutputReport): Child {
  const { heatmap } = output;
  if (!heatmap) return null;
  const odd = heatmap.data.includes(null) ? '; violet: not finite' : '';
  const legend = `largest |error| in each part of ${formatIndex(output.shape)}${odd}`;
  // A patched page keeps its canvas, and with it what is drawn: other data must be another element.
  const key = [heatmap.rows, heatmap.cols, output.mismatched, output.max_abs, output.mean_abs].join(' ');
  const canvas = h('canvas', {
    class: 'kb-heatmap-canvas',
    'data-key': key,
    role: 'img',
    'aria-label': output.pattern ?? `${legend}, at most ${formatNumber(output.max_abs)}`,
    width: heatmap.cols,
    height: heatmap.rows,
    style: `aspect-ratio:${aspect(heatmap)}`,
  }) as HTMLCanvasElement;
  const context = canvas.getContext('2d');
  context?.putImageData(new ImageData(heatmapPixels(heatmap), heatmap.cols, heatmap.rows), 0, 0);
  return h('figure', { class: 'kb-heatmap' }, canvas, h('figcaption', { class: 'kb-muted' }, legend));
}

/** That of the tensor, within what can be seen. */
const aspect = ({ rows, cols, row_step, col_step }: Heatmap): string =>
  Math.min(16, Math.max(0.5, (cols * col_step) / (rows * row_step))).toFixed(2);
