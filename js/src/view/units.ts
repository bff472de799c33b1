// Numbers as people in the field write them. A value that is missing is an en dash.

export const MISSING = '–';

const SECOND_MS = 1_000;

/** Three significant digits, without an exponent where it stays readable. */
export function formatNumber(value: number | null): string {
  if (value === null) return MISSING;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e5) return trimmed(value);
  return value
    .toExponential(2)
    .replace(/\.?0+e/, 'e')
    .replace('e+', 'e');
}

/** A whole number with thin groups of three digits. */
export const formatCount = (value: number): string => Math.round(value).toLocaleString('en-US');

export interface TimeUnit {
  name: string;
  perMs: number;
}

const TIME_UNITS: TimeUnit[] = [
  { name: 's', perMs: 1 / SECOND_MS },
  { name: 'ms', perMs: 1 },
  { name: 'µs', perMs: 1e3 },
  { name: 'ns', perMs: 1e6 },
];

/** The unit in which the largest of several durations has one to three digits before the point. */
export function timeUnit(durationsMs: (number | null)[]): TimeUnit {
  const largest = Math.max(0, ...durationsMs.filter((value) => value !== null));
  return TIME_UNITS.find((unit) => largest * unit.perMs >= 1) ?? (TIME_UNITS.at(-1) as TimeUnit);
}

/** A measured duration: `1.930 ms`, `17.02 µs`; in a given unit also `0.412 ms`. */
export function formatMs(durationMs: number | null, unit = timeUnit([durationMs])): string {
  return durationMs === null ? MISSING : `${fixed(durationMs * unit.perMs, 4)} ${unit.name}`;
}

/** How long something has taken, for a person who waits: `0.4 s`, `12.3 s`, `2 min 05 s`. */
export function formatElapsed(seconds: number | null): string {
  if (seconds === null) return MISSING;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  const two = (value: number) => String(value).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

/** A round value of an axis: `0.5 ms`. */
export const formatTick = (durationMs: number, unit: TimeUnit): string => `${trimmed(durationMs * unit.perMs)} ${unit.name}`;

/** An interval of ratios: `1.79–1.90`. */
export const formatInterval = (interval: { ci_low: number; ci_high: number }): string =>
  `${fixed(interval.ci_low, 3)}–${fixed(interval.ci_high, 3)}`;

/** A speedup: `1.84×`. */
export const formatRatio = (value: number | null): string => (value === null ? MISSING : `${fixed(value, 3)}×`);

/** A share in per cent that says 0 or 100 only where it is exactly that. */
export function formatPercent(percent: number): string {
  if (percent > 0 && percent < 0.01) return '<0.01 %';
  if (percent < 100 && percent > 99.99) return '>99.99 %';
  return `${trimmed(percent)} %`;
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Decimal units, as storage and bandwidth are counted. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : trimmed(value)} ${BYTE_UNITS[unit]}`;
}

/** Device memory in GiB, as vendors name it. */
export const formatMemory = (bytes: number): string => `${Math.round(bytes / 2 ** 30)} GiB`;

/** A shape or an index: `[16, 1024]`. */
export const formatIndex = (values: number[]): string => `[${values.join(', ')}]`;

/** Arguments of a case on one line: `n=1024, dtype="float16"`. */
export const formatParams = (params: Record<string, unknown>): string =>
  Object.entries(params)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(', ');

export const plural = (count: number, noun: string): string => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

/** So many digits, of which a leading zero counts as one; never fewer than three that say something. */
function fixed(value: number, significant: number): string {
  if (value === 0) return '0';
  const before = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.max(0, significant - Math.max(1, before), 3 - before));
}

/** Three digits without zeros at the end. */
function trimmed(value: number): string {
  const text = fixed(value, 3);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
