/** Maps a value to its place between 0 (left) and 1 (right). */
export interface Scale {
  (value: number): number;
  ticks: number[];
}

const clamp = (value: number) => Math.max(0, Math.min(1, value));

export const percent = (place: number): string => `${(100 * place).toFixed(2)}%`;

/** For ratios: as much room for twice as slow as for twice as fast, with 1 always in sight. */
export function logScale(ratios: number[]): Scale {
  const logs = ratios.filter((ratio) => ratio > 0).map(Math.log2);
  const low = Math.min(0, ...logs);
  const high = Math.max(0, ...logs);
  const margin = Math.max(0.15, 0.06 * (high - low));
  const span = high - low + 2 * margin;
  return Object.assign((ratio: number) => clamp((Math.log2(ratio) - low + margin) / span), { ticks: [1] });
}

/** For times: from the smallest to the largest with a little margin, and two to five round ticks. */
export function boxScale(values: number[]): Scale {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = 0.04 * (high - low) || 0.05 * high || 1;
  const start = low - margin;
  const span = high + margin - start;
  const scale = (value: number) => clamp((value - start) / span);
  return Object.assign(scale, { ticks: values.length > 0 ? roundTicks(start, start + span) : [] });
}

function roundTicks(low: number, high: number): number[] {
  const raw = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(i * step);
  return ticks;
}
